// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// A thread of a round, and what it has done: plain memory of its own, merged when it has ended.
///
/// Only the thread itself calls its methods, but for those that say otherwise. A checker that
/// counted in shared atomics would add the very fences whose absence it looks for; these methods
/// order nothing.
public final class Worker: @unchecked Sendable {
    // Unchecked: one thread uses it; others read it after joining that thread, but for the atomics.

    /// The thread's number in its round, from 0.
    public let index: Int
    /// The round that it works in.
    public let round: Round
    /// Chooses the thread's operations. The seed, the round and ``index`` determine its numbers,
    /// however the thread is delayed.
    public var generator: Generator
    /// Chooses the thread's delays.
    package var dice: Generator
    /// When it may starve next.
    var nextStarvation: UInt64 = 0
    /// When it may be delayed at an injection point next.
    var nextDelay: UInt64 = 0

    /// How many operations the thread has begun in this round.
    public internal(set) var operations: UInt64 = 0
    @usableFromInline package var checks: UInt64 = 0
    @usableFromInline package var windows: [UInt64]
    package private(set) var latencies: [(name: StaticString, histogram: Histogram)] = []

    /// How deep this thread is inside callbacks.
    package var depth = 0
    /// The host's addition to a worker.
    package var companion: AnyObject?

    /// The last events of the thread.
    @usableFromInline package let events = EventRing()
    /// When its last operation began.
    @usableFromInline package internal(set) var operationStart: UInt64 = 0

    /// Counts the thread's steps, for the watchdog.
    package let heartbeat = Atomic<UInt64>(0)
    private let step = Atomic<UInt>(0)

    package init(index: Int, round: Round) {
        self.index = index
        self.round = round
        generator = Generator(seed: round.seed, stream: UInt64(index) + 1)
        dice = Generator(seed: ~round.seed, stream: UInt64(index) + 1)
        windows = Array(repeating: 0, count: round.scenario.windows.count)
    }

    // MARK: The calling thread's

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        guard unsafe pthread_key_create(&key, nil) == 0 else { harnessFailure("no thread-specific key is left") }
        return key
    }()

    /// The calling thread's worker; nil on threads that no round has started.
    public static var current: Worker? {
        // Safe: `attach` keeps the worker for as long as it is set.
        guard let worker = unsafe pthread_getspecific(key) else { return nil }
        return unsafe Unmanaged<Worker>.fromOpaque(worker).takeUnretainedValue()
    }

    /// Makes the worker the calling thread's while `body` runs.
    package func attach(_ body: () -> Void) {
        // Safe: `self` is alive until the end of this call, which takes the worker away again.
        unsafe pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        defer { pthread_setspecific(Self.key, nil) }
        body()
    }

    // MARK: What scenarios report to it

    /// Begins an operation: counts it, notes it for reports of failures and for the
    /// watchdog. Threads are delayed here.
    ///
    /// - Parameter name: A literal.
    public func begin(_ name: StaticString) {
        operations &+= 1
        operationStart = nanoseconds()
        events.note(name, operations, at: operationStart)
        step.store(UInt(bitPattern: unsafe name.utf8Start), ordering: .relaxed)
        heartbeat.store(heartbeat.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        round.perturbation.reachedStep(self, name, at: operationStart)
    }

    /// Notes what happens within an operation, for reports of failures.
    ///
    /// - Parameter name: A literal.
    @inlinable @inline(__always)
    public func note(_ name: StaticString, _ number: UInt64) { events.note(name, number, at: operationStart) }

    /// The step that the thread is at. Any thread.
    package var currentStep: String {
        let address = step.load(ordering: .relaxed)
        // Safe: literals live as long as the program, and end with a zero byte.
        guard let name = unsafe UnsafePointer<CChar>(bitPattern: address) else { return "starting" }
        return unsafe String(cString: name)
    }

    /// Checks an invariant. The first violation ends the round, and the run with it.
    ///
    /// - Parameters:
    ///   - invariant: Its name, as in "cache.never-negative": a literal.
    ///   - message: The facts that contradict it, for the reader of the failure.
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
    package func hit(_ window: Int) { windows[window] &+= 1 }

    /// Counts an event without which a pass means nothing.
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

    /// Records how long something took, for the figures of the run.
    ///
    /// - Parameters:
    ///   - name: A literal. Each name has a histogram.
    ///   - duration: In nanoseconds.
    public func record(_ name: StaticString, nanoseconds duration: UInt64) {
        for index in latencies.indices where unsafe latencies[index].name.utf8Start == name.utf8Start {
            return latencies[index].histogram.record(duration)
        }
        var histogram = Histogram()
        histogram.record(duration)
        latencies.append((name, histogram))
    }

    /// Does `body`, and records how long it took.
    public func measure<Result, Failure: Error>(
        _ name: StaticString,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let start = nanoseconds()
        defer { record(name, nanoseconds: nanoseconds() - start) }
        return try body()
    }
}
