// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// The program of a child that is forked during a scenario: a short program on new objects, which must go on whatever the
/// parent's threads were doing. (P18)
///
/// It takes no lock of the harness's and prints nothing: other threads of the parent's may have held those.
enum ForkedChild {
    /// What it finds, beside those of the scenario it is forked in.
    static let invariants = [
        "P18.child-goes-on", "P18.child-receives", "P18.child-counts", "P17.new-thread",
    ]

    /// Exit statuses.
    private enum Status {
        static let fine: Int32 = 0
        static let missedEvent: Int32 = 10
        static let doesNotEnd: Int32 = 11
        static let miscounts: Int32 = 12
        static let isDeferred: Int32 = 13
        static let reported: Int32 = 14
    }

    /// Invariant, and what happened.
    typealias Finding = (invariant: String, message: String)

    /// Forks, and waits for the child, which uses the library.
    ///
    /// - Parameters:
    ///   - refusals: How many threads the system refuses the library in the child.
    ///   - caught: What another thread may be changing at the fork, if anything: the child observes it. Asked in the child.
    ///   - forked: Called in the parent when the child is there.
    /// - Returns: What does not hold in the child, if anything.
    static func run(
        refusing refusals: Int,
        _ caught: @autoclosure () -> Observed<UInt64>? = nil,
        forked: () -> Void = {}
    ) -> Finding? {
        fork(forked) {
            disturbNoMore(refusing: refusals)
            let caught = caught()
            // Before the library's threads take records over; but where they are refused, what waits for them comes first.
            if refusals == 0, let caught { observeFromEveryRecord(caught) }
            let status = live()
            if status == Status.fine, refusals > 0, let caught { observeFromEveryRecord(caught) }
            return status
        }
    }

    /// Forks, and waits for the child, which does `body`, uses new objects and drains: for the explorer's programs.
    ///
    /// - Parameter body: Reports what does not hold by `fail(_:_:)`.
    static func explore(_ body: () -> Void) -> Finding? {
        fork({}) {
            unsafe CurrentRun.violations = nil
            body()
            guard usesNewObjects() else { return Status.missedEvent }
            // Nothing is slow here: a drain that does not end is a hang.
            guard ConcurrentObserveDiagnostics.drain() == .finished else { return Status.doesNotEnd }
            return miscounts() ? Status.miscounts : Status.fine
        }
    }

    /// In a child: something does not hold. Ends it.
    static func fail(_ invariant: String, _ message: String) -> Never {
        let text = Array("\(invariant)\t\(message)".utf8.prefix(4_000))
        // Safe: the array lives meanwhile. A pipe takes so much at once.
        _ = unsafe text.withUnsafeBytes { unsafe write(unsafe report, $0.baseAddress, $0.count) }
        _exit(Status.reported)
    }

    /// Where a child reports what does not hold. One thread forks at a time.
    nonisolated(unsafe) private static var report: Int32 = -1

    /// Forks, and waits for the child, in which the calling thread exits inside a callback. That it traps, with the rule, is right. (P17)
    ///
    /// - Parameter isInCallback: Whether the calling thread is inside one; else the child enters one.
    static func runExit(isInCallback: Bool, forked: () -> Void = {}) -> Finding? {
        fork(forked, mayTrap: true) {
            disturbNoMore(refusing: 0)
            // The trap's message is no failure of this run. Safe: a literal.
            dup2(unsafe open("/dev/null", O_WRONLY), STDERR_FILENO)
            if isInCallback { exitThread() }
            let registry = ObserverRegistry<UInt64>()
            let token = registry.observe { _ in exitThread() }
            registry.notify(0)
            token.cancel()
            return Status.missedEvent
        }
    }

    /// After so many seconds a child hangs.
    static var patience: UInt32 { UInt32(10 * min(Sanitizer.slowdown, 6)) }

    private static func fork(_ forked: () -> Void, mayTrap: Bool = false, _ child: () -> Int32) -> Finding? {
        // The importer marks the function unavailable. Safe: that is its type.
        let fork = unsafe unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { harnessFailure("the system gives no pipe (error \(errno))") }
        defer { for end in ends { close(end) } }
        let number = fork()
        if number == 0 {
            unsafe report = ends[1]
            // A child that hangs is ended by a signal.
            alarm(patience)
            for number in [SIGALRM, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE] { signal(number, SIG_DFL) }
            _exit(child())
        }
        forked()
        guard number > 0 else { harnessFailure("the process cannot be forked (error \(errno))") }
        var status: Int32 = 0
        while unsafe waitpid(number, &status, 0) == -1, errno == EINTR {}
        let (signal, code) = (status & 0x7F, status >> 8 & 0xFF)
        noteIfHung(signal)
        switch (signal, code) {
        case (0, Status.fine): return nil
        case (SIGILL, _) where mayTrap, (SIGTRAP, _) where mayTrap: return nil
        case (0, Status.missedEvent):
            return ("P18.child-receives", "a child's observers did not receive what they must")
        case (0, Status.miscounts): return ("P18.child-counts", "a child's backlog is not what waits in it")
        case (0, Status.reported):
            var bytes = [UInt8](repeating: 0, count: 4_000)
            let count = unsafe read(ends[0], &bytes, bytes.count)
            let parts = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self).split(separator: "\t")
            return ("\(parts.first ?? "P18.child-goes-on")", "in a child: \(parts.last ?? "nothing more is known")")
        case (0, Status.isDeferred):
            return (
                "P17.new-thread", "a thread has the record of one that exited in a callback, and counts as inside it"
            )
        case (SIGALRM, _): return ("P18.child-goes-on", "a child hangs")
        case (0, _): return ("P18.child-goes-on", "a child ended with status \(code)")
        default: return ("P18.child-goes-on", "a child ended with signal \(signal)")
        }
    }

    /// Notes the wait for a child that a signal has ended, if that is the one for a child that hangs.
    static func noteIfHung(_ signal: Int32) {
        if signal == SIGALRM { WaitInVain.note(UInt64(patience) * 1_000_000_000) }
    }

    /// Uses in the parent what a child uses: what the runtime makes on first use it makes under locks, which a fork may find taken.
    /// Returns when the observations that this takes are gone: a round counts those that are live when it begins.
    static func prepare() {
        let live = ConcurrentObserveDiagnostics.current().liveObservers
        _ = usesNewObjects() && sharesAnActor()
        observeFromEveryRecord(Observed(0))
        // Those that stay, by a seeded bug, are found at rest.
        _ = waitWhileMoving {
            ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(1))
            return ConcurrentObserveDiagnostics.current().liveObservers == live
        }
    }

    /// The child's program.
    ///
    /// - Returns: The status with which it ends.
    private static func live() -> Int32 {
        // The second end of an observation waits for the library's threads.
        let registry = ObserverRegistry<UInt64>()
        let token = registry.observe { _ in }
        token.cancel()
        guard token.cancelAndWaitBlocking() == .finished else { return Status.doesNotEnd }
        guard usesNewObjects() else { return Status.missedEvent }
        guard sharesAnActor() else { return Status.missedEvent }
        return drains()
    }

    private static func drains() -> Int32 {
        let drained = ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(2))
        // The parent's deinitialisers may take longer here than that; then nothing is known.
        if drained == .finished, miscounts() { return Status.miscounts }
        return Status.fine
    }

    /// Whether the backlog stays above zero, or is below it, though nothing waits. What deinitialisers retire after a drain has begun
    /// waits for the next.
    private static func miscounts() -> Bool {
        for _ in 0..<20 {
            if ConcurrentObserveDiagnostics.current().backlog == 0 { return false }
            guard ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(2)) == .finished else { return false }
        }
        return true
    }

    private static func disturbNoMore(refusing refusals: Int) {
        unsafe CurrentRun.violations = nil
        #if INSTRUMENTED
        unsafe Instrumentation.perturbation = nil
        unsafe Instrumentation.exploration = nil
        unsafe Instrumentation.barrierFault = nil
        let left = Count(refusals)
        unsafe Instrumentation.refusesThread = { left.decrement() >= 0 }
        #endif
    }

    private static func usesNewObjects() -> Bool {
        let count = Count(0)
        let (registry, property) = (ObserverRegistry<UInt64>(), Observed<UInt64>(0))
        let tokens =
            (0..<4).map { _ in registry.observe { _ in count.increment() } }
            + [
                property.observe { (_: Change<UInt64>) in count.increment() },
                property.observe(delivery: .serial()) { (_: Change<UInt64>) in count.increment() },
            ]
        registry.notify(0)
        property.value = 1
        for token in tokens { token.cancelAndWaitBlocking() }
        registry.notify(0)
        property.value = 2
        return count.value == 6
    }

    /// Two threads, this one among them, look at one actor's counts, which are long enough to sum up for the two to collide.
    private static func sharesAnActor() -> Bool {
        let actor = ObservationActor()
        let registry = ObserverRegistry<UInt64>()
        let tokens = (0..<256).map { _ in registry.observe(delivery: .actor(actor)) { _ in } }
        let ready = Semaphore()
        let look: @Sendable () -> Void = {
            let end = nanoseconds() + 3_000_000
            while nanoseconds() < end, actor.deliveryCounts.sent == 0 {}
        }
        let other = Thread {
            ready.signal()
            look()
        }
        ready.wait()
        look()
        other.join()
        for token in tokens { token.cancel() }
        return actor.deliveryCounts.sent == 0
    }

    /// New threads, as many as there are records to take over, observe what another thread may have been changing: none is that thread.
    private static func observeFromEveryRecord(_ caught: Observed<UInt64>) {
        let (ready, go) = (Semaphore(), Semaphore())
        let threads = (0..<ConcurrentObserveDiagnostics.current().threadRecords).map { _ in
            Thread {
                // Takes a record. None of the library's threads, which the first observation starts, is to take one before.
                ObserverRegistry<UInt64>().notify(0)
                ready.signal()
                go.wait()
                caught.observe { _ in }.cancel()
            }
        }
        for _ in threads { ready.wait() }
        for _ in threads { go.signal() }
        for thread in threads { thread.join() }
    }

    /// In a callback: ends the thread there. The next one, which gets its record, is inside none, and ends the process.
    private static func exitThread() -> Never {
        let before = pthread_self()
        _ = Thread {
            pthread_join(before, nil)
            let outcome = ObserverRegistry<UInt64>().observe { _ in }.cancelAndWaitBlocking()
            _exit(outcome == .finished ? Status.fine : Status.isDeferred)
        }
        pthread_exit(nil)
    }
}

/// A number that callbacks change.
private final class Count: Sendable {
    private let count: Atomic<Int>

    init(_ count: Int) { self.count = Atomic(count) }

    // Relaxed, all: the thread that looks has joined the one that counts, or is the same thread.
    func increment() { count.add(1, ordering: .relaxed) }
    func decrement() -> Int { count.subtract(1, ordering: .relaxed).newValue }
    var value: Int { count.load(ordering: .relaxed) }
}
