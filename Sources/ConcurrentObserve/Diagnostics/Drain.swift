// SPDX-License-Identifier: Apache-2.0

extension ConcurrentObserveDiagnostics {
    /// Waits until everything that was retired before the call is reclaimed: the closures of ended
    /// observations, and replaced values and tables. Use it for shutdown and in tests; nothing else
    /// needs it. (P16)
    ///
    /// First it ends observations whose owners are dead. A callback that is still running keeps its
    /// own closure and table, so the drain waits for it.
    ///
    /// - Parameter deadline: The latest time at which the call returns; nil for no limit. It is a
    ///   time of the system's clock, because the system wakes the thread.
    /// - Returns: `.finished`, `.timedOut` at the deadline, or, inside a callback, `.deferred` at
    ///   once.
    @available(*, noasync, message: "it blocks the thread: call it from a thread of your own")
    @discardableResult
    public static func drain(deadline: ContinuousClock.Instant? = nil) -> WaitOutcome {
        if ThreadRecord.isInsideCallback { return .deferred }
        OwnerWatch.sweep()
        return ReclamationThread.shared.drain(until: deadline)
    }
}
