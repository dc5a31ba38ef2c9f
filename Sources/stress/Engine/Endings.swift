// SPDX-License-Identifier: Apache-2.0

// The ways to end observations under test, each with its checks.

import Glibc
import Synchronization

extension Worker {
    /// Cancels a subject's observation.
    func cancel(_ subject: Subject) {
        begin("cancel")
        subject.probe.markEnding()
        subject.token.cancel()
    }

    /// Ends an observation in a callback, where waiting is deferred. (P9)
    func cancelAndWaitWithin(_ token: ObservationToken) {
        let outcome = token.cancelAndWaitBlocking()
        check(outcome == .deferred, "P9.deferred-in-callback", "cancelAndWait in a callback returned \(outcome)")
    }

    /// Waits until the closure of an ended observation is destroyed, and does not use the library
    /// for that. Records the duration if there is a bound. (P14)
    func awaitDestruction(_ probe: ProbeReference, _ invariant: StaticString, _ bound: TimedBound? = nil) {
        let isDestroyed = wait(bound) { probe.destroyed != 0 }
        check(isDestroyed && probe.destroyed == 1, invariant) {
            "destroyed \(probe.destroyed) times ten seconds after the end"
        }
    }
}

extension Checker {
    /// Checks a wait for the end of an observation, outside callbacks. (P9)
    func checkWait(for subject: Subject, _ outcome: WaitOutcome, destroyed: Name = "P9.closure-destroyed") {
        check(outcome == .finished, "P9.outcome", "cancelAndWait outside callbacks returned \(outcome)")
        let count = subject.probe.destroyed
        check(count == 1, destroyed, "the closure was destroyed \(count) times at the return")
        check(!subject.token.isActive, "P9.inactive", "the token is active after cancelAndWait")
    }
}

extension Subject {
    /// Ends the observation and waits. Only outside callbacks, because a callback would not wait.
    /// Other threads may end it at the same time.
    func end() {
        probe.markEnding()
        token.cancelAndWaitBlocking()
        probe.markDead()
    }

    /// Ends the observation from a task. (P9)
    ///
    /// - Returns: The outcome of the wait, and how often the closure had been destroyed when the
    ///   wait returned.
    func awaitEnd() async -> (outcome: WaitOutcome, destroyed: Int) {
        probe.markEnding()
        let outcome = await token.cancelAndWait()
        probe.markDead()
        return (outcome, probe.destroyed)
    }
}

extension Round {
    /// Ends at rest an observation that may have ended already, and checks that nothing is left of
    /// it. (P9)
    func finish(_ subject: Subject, destroyed: String = "P9.closure-destroyed") {
        checkWait(for: subject, subject.token.cancelAndWaitBlocking(), destroyed: destroyed)
    }

    /// Waits at rest until `condition` holds. The invariant is violated if it does not, and
    /// `progress` does not change.
    ///
    /// - Returns: Whether the condition holds.
    @discardableResult
    func wait(
        for invariant: String,
        _ message: @autoclosure () -> String,
        moving progress: () -> UInt64 = { 0 },
        until condition: () -> Bool
    ) -> Bool {
        let holds = waitWhileMoving(progress, until: condition)
        check(holds, invariant, message())
        return holds
    }
}

/// A source, and the observations that are kept together with it.
final class KeptSource<Source: Sendable>: Sendable {
    let source: Source
    private let kept = Guarded<[EndedSubject]>([])

    init(_ source: Source) { self.source = source }

    var subjects: [EndedSubject] { kept.withLock { $0 } }
    // Makes a new array each time. `append`, and `+` when it is optimised, might write to memory
    // from which another thread has read its copy before. The reference counts order the two
    // accesses, but ThreadSanitizer does not see that.
    func keep(_ subject: EndedSubject) { kept.withLock { $0 = Array([$0, [subject]].joined()) } }
}

/// An observation, and the record of its end.
struct EndedSubject: Sendable {
    let subject: Subject
    let record: EndRecord
    /// Whether a listener is still to be added, about when the observation ends.
    let listensLate: Bool

    /// Adds a listener after the closure is destroyed, or after 5 ms if it is not destroyed by
    /// then.
    ///
    /// - Returns: Whether the closure was destroyed before.
    func listenLate() -> Bool {
        let (probe, serial, limit) = (subject.probe, subject.probe.serial, nanoseconds() + 5_000_000)
        while probe.destroyed == 0, probe.serial == serial, nanoseconds() < limit { sched_yield() }
        record.listen(to: subject.token)
        return probe.destroyed != 0
    }
}

/// The record of one observation's end.
final class EndRecord: Sendable {
    /// Counts callbacks that began after the end.
    private let callsAfter = Tally()
    private let isCancelledAlive = Atomic<Bool>(false)
    /// Counts the listeners for the end, and the calls of them.
    private let listeners = Tally()
    private let ends = Atomic<Int>(0)
    private let reason = Atomic<UInt32>(.max)

    func listen(to token: ObservationToken) {
        listeners.increment()
        token.onEnd { [self] end in
            checkUserCode("onEnd body")
            reason.store(end.rawValue, ordering: .relaxed)
            // Release: pairs with the acquires below.
            ends.add(1, ordering: .releasing)
        }
    }

    /// Records that the callback has begun.
    func noteCall() { if ends.load(ordering: .acquiring) > 0 { callsAfter.increment() } }

    /// Records that the observation was cancelled while its source was alive: the death of the
    /// source then cannot be the reason of its end.
    func noteCancellation() { isCancelledAlive.store(true, ordering: .relaxed) }

    /// Checks at rest that the end was delivered once to each listener, for a possible reason, and
    /// that no callback came afterwards. (P12)
    ///
    /// - Returns: The reason; nil if the end was delivered to no listener.
    @discardableResult
    func check(_ round: Round, endLast: String = "P12.end-last") -> ObservationEnd? {
        let (ends, listeners) = (ends.load(ordering: .acquiring), listeners.value)
        round.check(ends == listeners, "P12.end-once", "\(listeners) bodies of onEnd were called \(ends) times")
        let reason = ObservationEnd(rawValue: reason.load(ordering: .relaxed))
        let text = String(describing: reason)
        round.check(reason == .sourceDeleted || reason == .cancelled || listeners == 0, "P12.reason") {
            "ended with \(text)"
        }
        round.check(reason == .cancelled || !isCancelledAlive.load(ordering: .relaxed), "P12.reason") {
            "cancelled while its source was alive, ended with \(text)"
        }
        let after = callsAfter.value
        round.check(after == 0, endLast, "received \(after) changes after the end")
        return reason
    }
}

/// The records of a round. They exist longer than the tokens.
final class EndRecords: Sendable {
    private let all = Guarded<[(probe: ProbeReference, serial: UInt64, record: EndRecord)]>([])

    /// Begins an observation with `observe`, and records its end.
    func add(listensLate: Bool = false, _ observe: (EndRecord) -> Subject) -> EndedSubject {
        let record = EndRecord()
        let subject = observe(record)
        all.withLock { $0.append((subject.probe, subject.probe.serial, record)) }
        if !listensLate { record.listen(to: subject.token) }
        return EndedSubject(subject: subject, record: record, listensLate: listensLate)
    }

    /// Checks at rest that each observation has ended once, for a possible reason, that no callback
    /// came afterwards, and that its closure is destroyed. (P12, P14)
    func check(_ round: Round) {
        guard round.violations.isEmpty else { return }
        for (probe, serial, record) in all.withLock({ $0 }) where probe.serial == serial {
            record.check(round)
            round.check(probe.destroyed == 1, "P14.destroyed-once", "destroyed \(probe.destroyed) times")
        }
    }
}
