// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// The checker's records for one thread: plain memory of its own, merged when the thread has ended.
///
/// A checker that counted in shared atomics would add the very fences whose absence it looks for.
final class Worker: @unchecked Sendable {
    // Unchecked: one thread uses it; others read it after joining that thread, but for the atomics.
    let index: Int
    let round: Round
    /// Chooses the thread's operations.
    var generator: Generator
    /// Chooses the thread's delays.
    var dice: Generator
    /// When it may starve next.
    var nextStarvation: UInt64 = 0
    /// When it may be delayed at an injection point next.
    var nextDelay: UInt64 = 0

    var operations: UInt64 = 0
    var checks: UInt64 = 0
    var windows: [UInt64]
    var notifyLatency = Histogram()
    var waitLatency = Histogram()
    private var notifications: UInt64 = 0

    /// Closures that the thread has made.
    var closures: UInt64 = 0

    /// The record of the pass that this thread is in.
    var pass = PassRecord()

    /// Snapshots of this thread that have held off publication: in the instrumented build.
    var snapshotsHeldOff: UInt64 = 0

    /// How deep this thread is inside callbacks.
    var depth = 0

    /// The closure whose destruction this thread has asked for by `cancelAndWait`.
    var waitsFor: ProbeReference?

    /// The last events of the thread.
    let events = EventRing()
    /// When its last operation began.
    private var operationStart: UInt64 = 0

    /// Counts the thread's steps, for the watchdog.
    let heartbeat = Atomic<UInt64>(0)
    private let step = Atomic<UInt>(0)

    init(index: Int, round: Round) {
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

    /// The calling thread's worker, if it is one of the scenario's.
    static var current: Worker? {
        // Safe: `attach` keeps the worker for as long as it is set.
        guard let worker = unsafe pthread_getspecific(key) else { return nil }
        return unsafe Unmanaged<Worker>.fromOpaque(worker).takeUnretainedValue()
    }

    /// Makes the worker the calling thread's while `body` runs.
    func attach(_ body: () -> Void) {
        // Safe: `self` is alive until the end of this call, which takes the worker away again.
        unsafe pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        defer { pthread_setspecific(Self.key, nil) }
        body()
    }

    // MARK: What scenarios report to it

    /// Notes for the watchdog what the thread does next; a name must be a literal.
    func begin(_ name: StaticString) {
        operations &+= 1
        operationStart = nanoseconds()
        events.note(name, operations, at: operationStart)
        step.store(UInt(bitPattern: unsafe name.utf8Start), ordering: .relaxed)
        heartbeat.store(heartbeat.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        round.perturbation.reachedStep(self, at: operationStart)
    }

    /// Notes what happens within an operation, for reports of failures; a name must be a literal.
    @inline(__always)
    func note(_ name: StaticString, _ number: UInt64) { events.note(name, number, at: operationStart) }

    /// The step that the thread is at. Any thread.
    var currentStep: String {
        let address = step.load(ordering: .relaxed)
        // Safe: literals live as long as the program, and end with a zero byte.
        guard let name = unsafe UnsafePointer<CChar>(bitPattern: address) else { return "starting" }
        return unsafe String(cString: name)
    }

    /// Checks an invariant; a violation is reported at once.
    @inline(__always)
    func check(_ holds: Bool, _ invariant: StaticString, _ message: @autoclosure () -> String) {
        checks &+= 1
        if !holds { round.violations.report(invariant.description, message(), worker: self) }
    }

    func hit(_ window: Int) { windows[window] &+= 1 }

    /// Notifies as one pass, and returns what the pass has met.
    @discardableResult
    func pass(_ registry: ObserverRegistry<UInt64>, watching probe: ProbeReference? = nil) -> PassRecord {
        let outer = pass
        defer { pass = outer }
        pass = PassRecord()
        pass.watched = probe?.serial ?? 0
        notify(registry, operations)
        return pass
    }

    /// Notifies, and measures every sixteenth time.
    func notify<Event>(_ registry: ObserverRegistry<Event>, _ event: Event) {
        notifications &+= 1
        guard notifications & 15 == 0, depth == 0 else { return registry.notify(event) }
        let start = nanoseconds()
        registry.notify(event)
        notifyLatency.record(nanoseconds() - start)
    }
}

/// The record of one notification.
struct PassRecord {
    /// Calls of observers that stay registered throughout, and the sum of their numbers.
    var stableCalls = 0
    var stableSum = 0
    /// Calls of the observer that this thread watches.
    var watched: UInt64 = 0
    var watchedCalls = 0
    /// All calls.
    var calls = 0
    /// Observers that this thread has registered, or cancelled, during the pass: none may be called
    /// in it.
    var mustNotCall: Set<UInt64> = []
}
