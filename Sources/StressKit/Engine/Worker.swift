// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// The counts of a worker's thread. They are used by their address. If they were properties of a
/// class, another module would check each access for exclusivity, which costs as much as an
/// operation.
@safe @usableFromInline struct WorkerCounts {
    @usableFromInline var generator: Generator
    @usableFromInline var operations: UInt64 = 0
    @usableFromInline var checks: UInt64 = 0
    @usableFromInline var windows: [UInt64]
    @usableFromInline var depth = 0
    /// The time at which the last operation began.
    @usableFromInline var operationStart: UInt64 = 0
    /// The address of the host's record of the worker; nil if there is none.
    @usableFromInline var hostRecord: UnsafeMutableRawPointer?
}

/// A thread of a round, and the counts of its work. They are plain memory of its own, and are
/// merged when the thread has ended.
///
/// Only the thread itself may call the methods, unless a method says otherwise. The methods add no
/// memory ordering. Counting in shared atomics would add the fences whose absence the run looks
/// for.
@safe public final class Worker: @unchecked Sendable {
    // Unchecked: one thread uses it. Other threads read it after they have joined this thread,
    // except the atomics.

    /// The thread's number in its round, from 0.
    public let index: Int
    /// The round to which it belongs.
    public let round: Round
    /// The random numbers that choose the thread's delays.
    package var dice: Generator
    /// The earliest time at which the thread may starve again.
    var nextStarvation: UInt64 = 0
    /// The earliest time at which the thread may be delayed at an injection point again.
    var nextDelay: UInt64 = 0

    /// It is never replaced, and is freed with the worker.
    @usableFromInline let counts: UnsafeMutablePointer<WorkerCounts>
    /// Retains the owner of the host's record.
    private var hostOwner: AnyObject?
    package private(set) var latencies: [(name: StaticString, histogram: Histogram)] = []

    /// The last events of the thread.
    @usableFromInline package let events = EventRing()

    /// Counts the thread's steps, for the watchdog.
    package let heartbeat = Atomic<UInt64>(0)
    private let step = Atomic<UInt>(0)

    package init(index: Int, round: Round) {
        self.index = index
        self.round = round
        dice = Generator(seed: ~round.seed, stream: UInt64(index) + 1)
        unsafe counts = .allocate(capacity: 1)
        unsafe counts.initialize(
            to: WorkerCounts(
                generator: Generator(seed: round.seed, stream: UInt64(index) + 1),
                windows: Array(repeating: 0, count: round.scenario.windows.count)
            )
        )
    }

    deinit {
        unsafe counts.deinitialize(count: 1)
        unsafe counts.deallocate()
    }

    // Safe, all: see `counts`.

    /// The random numbers that choose the thread's operations. The seed, the round and ``index``
    /// determine them, however the thread is delayed.
    @inlinable public var generator: Generator {
        get { unsafe counts.pointee.generator }
        _modify { yield unsafe &counts.pointee.generator }
    }

    /// The number of operations that the thread has begun in this round.
    @inlinable public var operations: UInt64 { unsafe counts.pointee.operations }

    @inlinable package var checks: UInt64 {
        get { unsafe counts.pointee.checks }
        set { unsafe counts.pointee.checks = newValue }
    }

    /// The number of times that each window was hit.
    package var windows: [UInt64] { unsafe counts.pointee.windows }

    /// The number of nested callbacks in which this thread is.
    @inlinable package var depth: Int {
        get { unsafe counts.pointee.depth }
        set { unsafe counts.pointee.depth = newValue }
    }

    /// The host's record of the worker, if it has made one.
    @inlinable package var hostRecord: UnsafeMutableRawPointer? { unsafe counts.pointee.hostRecord }

    /// Sets the host's record.
    ///
    /// - Parameter owner: Lives as long as the worker, and frees the memory.
    package func setHostRecord(_ memory: UnsafeMutableRawPointer, of owner: AnyObject) {
        unsafe counts.pointee.hostRecord = memory
        hostOwner = owner
    }

    // MARK: The calling thread's

    @usableFromInline static let key: pthread_key_t = {
        var key = pthread_key_t()
        guard unsafe pthread_key_create(&key, nil) == 0 else { harnessFailure("no thread-specific key is left") }
        return key
    }()

    /// The calling thread's worker; nil on threads that no round has started.
    @inlinable
    public static var current: Worker? {
        // Safe: `attach` keeps the worker for as long as it is set.
        guard let worker = unsafe pthread_getspecific(key) else { return nil }
        return unsafe Unmanaged<Worker>.fromOpaque(worker).takeUnretainedValue()
    }

    /// Makes this the worker of the calling thread while `body` runs.
    package func attach(_ body: () -> Void) {
        // Safe: `self` is alive until the end of this call, which takes the worker away again.
        unsafe pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        defer { pthread_setspecific(Self.key, nil) }
        body()
    }

    // MARK: What scenarios report to it

    /// Begins an operation: counts it, and records it for the reports of failures and for the
    /// watchdog. The thread may be delayed here.
    ///
    /// - Parameter name: A literal.
    public func begin(_ name: StaticString) {
        let now = nanoseconds()
        unsafe counts.pointee.operations &+= 1
        unsafe counts.pointee.operationStart = now
        events.note(name, operations, at: now)
        step.store(UInt(bitPattern: unsafe name.utf8Start), ordering: .relaxed)
        heartbeat.store(heartbeat.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        round.perturbation.reachedStep(self, name, at: now)
    }

    /// Records an event within an operation, for the reports of failures.
    ///
    /// - Parameters:
    ///   - name: A literal.
    ///   - number: The number of the object that the event concerns.
    @inlinable @inline(__always)
    public func note(_ name: StaticString, _ number: UInt64) {
        events.note(name, number, at: unsafe counts.pointee.operationStart)
    }

    /// The name of the thread's present step. Any thread.
    package var currentStep: String {
        let address = step.load(ordering: .relaxed)
        // Safe: literals live as long as the program, and end with a zero byte.
        guard let name = unsafe UnsafePointer<CChar>(bitPattern: address) else { return "starting" }
        return unsafe String(cString: name)
    }

    /// Checks an invariant. The first violation ends the round and the run.
    ///
    /// - Parameters:
    ///   - holds: Whether the invariant holds.
    ///   - invariant: Its name, as in "cache.never-negative": a literal.
    ///   - message: The facts that contradict the invariant, for the reader of the failure.
    @inlinable @inline(__always)
    public func check(_ holds: Bool, _ invariant: StaticString, _ message: @autoclosure () -> String) {
        checks &+= 1
        if !holds { report(invariant, message()) }
    }

    @usableFromInline
    func report(_ invariant: StaticString, _ message: String) {
        round.violations.report(invariant.description, message, worker: self)
    }

    /// Counts an event by the index of its window.
    @inlinable
    package func hit(_ window: Int) { unsafe counts.pointee.windows[window] &+= 1 }

    /// Counts an event that must happen in a run: without it a pass means nothing.
    ///
    /// - Precondition: The run names the window.
    /// - Complexity: O(number of windows).
    public func hit(_ window: StaticString) {
        let name = unsafe UnsafeBufferPointer(start: window.utf8Start, count: window.utf8CodeUnitCount)
        // Safe: the literal lives as long as the program.
        guard let index = round.scenario.windows.firstIndex(where: { unsafe $0.utf8.elementsEqual(name) }) else {
            preconditionFailure("no window '\(window)': name it in the call of stress(…)")
        }
        hit(index)
    }

    /// Draws a number from 0 to `bound` - 1.
    ///
    /// - Precondition: `bound` is 1 or more.
    @inlinable
    public func random(below bound: Int) -> Int { generator.below(bound) }

    /// Records a duration, for the figures of the run.
    ///
    /// - Parameters:
    ///   - name: A literal. Each name has a histogram.
    ///   - duration: The duration in nanoseconds.
    public func record(_ name: StaticString, nanoseconds duration: UInt64) {
        for index in latencies.indices where unsafe latencies[index].name.utf8Start == name.utf8Start {
            return latencies[index].histogram.record(duration)
        }
        var histogram = Histogram()
        histogram.record(duration)
        latencies.append((name, histogram))
    }

    /// Runs `body`, and records its duration.
    public func measure<Result, Failure: Error>(
        _ name: StaticString,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let start = nanoseconds()
        defer { record(name, nanoseconds: nanoseconds() - start) }
        return try body()
    }
}
