// SPDX-License-Identifier: Apache-2.0

// How observations under test end, and the checks that belong to each way.

extension Worker {
    /// Cancels a subject's observation.
    func cancel(_ subject: Subject) {
        begin("cancel")
        subject.probe.markEnding()
        subject.token.cancel()
    }

    /// In a callback: a wait there is deferred. (P9)
    func cancelAndWaitWithin(_ token: ObservationToken) {
        let outcome = token.cancelAndWaitBlocking()
        check(outcome == .deferred, "P9.deferred-in-callback", "cancelAndWait in a callback returned \(outcome)")
    }

    /// Waits, without using the library, until an ended observation's closure is destroyed, and
    /// notes how long it took where a bound asks for it. (P14)
    func awaitDestruction(_ probe: ProbeReference, _ invariant: StaticString, _ bound: TimedBound? = nil) {
        let isDestroyed = wait(bound) { probe.destroyed != 0 }
        check(
            isDestroyed && probe.destroyed == 1,
            invariant,
            "destroyed \(probe.destroyed) times ten seconds after the end"
        )
    }
}

extension Subject {
    /// Ends the observation from a task. (P9)
    ///
    /// - Returns: What the wait returned, and how often the closure was destroyed by then.
    func awaitEnd() async -> (outcome: WaitOutcome, destroyed: Int) {
        probe.markEnding()
        let outcome = await token.cancelAndWait()
        probe.markDead()
        return (outcome, probe.destroyed)
    }
}

extension Round {
    /// At rest: ends an observation that may have ended already, and checks that nothing is left of
    /// it. (P9)
    func finish(_ subject: Subject, destroyed invariant: String = "P9.closure-destroyed") {
        let outcome = subject.token.cancelAndWaitBlocking()
        check(outcome == .finished, "P9.outcome", "cancelAndWait outside callbacks returned \(outcome)")
        let destroyed = subject.probe.destroyed
        check(destroyed == 1, invariant, "the closure was destroyed \(destroyed) times at the return")
        check(!subject.token.isActive, "P9.inactive", "the token is active after cancelAndWait")
    }

    /// At rest: waits until `condition` holds. It is violated if that never comes, and `progress`
    /// stands still.
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
