// SPDX-License-Identifier: Apache-2.0

extension ConcurrentObserveDiagnostics {
    /// Waits until everything that was retired before the call is reclaimed: closures of ended
    /// observations destroyed, replaced tables freed. For shutdown and for tests; nothing needs it
    /// otherwise. (P16)
    ///
    /// It notices dead owners first. A callback that is still running holds its own closure and
    /// table, and so the drain.
    ///
    /// - Parameter deadline: When to return at the latest; nil waits as long as it takes.
    /// - Returns: `.finished`, `.timedOut` at the deadline, or, inside a callback, `.deferred` at
    ///   once.
    @available(*, noasync, message: "it blocks the thread: call it from a thread of your own")
    @discardableResult
    public static func drain(deadline: ContinuousClock.Instant? = nil) -> DrainOutcome {
        if ThreadRecord.isInsideCallback { return outcomeInsideCallback }
        OwnerWatch.sweep()
        return ReclamationThread.shared.drain(until: deadline)
    }

    private static var outcomeInsideCallback: DrainOutcome {
        return .deferred
    }
}
