// SPDX-License-Identifier: Apache-2.0

extension ObservationToken {
    /// Suspends until every change whose setter has returned before the call is delivered, its callback
    /// having returned, or dropped.
    ///
    /// Changes that begin later are not waited for. It may be called from anywhere, for an observation that has ended,
    /// too: what that has left is dropped. An inline observation has no mailbox, and a change is delivered
    /// before its setter returns: there is nothing to wait for. It waits for callbacks without a bound; do
    /// not let a callback wait for it.
    ///
    /// ```swift
    /// car.mileage.value = 7
    /// await token.flush()
    /// // The callback has returned for 7.
    /// ```
    ///
    /// - Returns: Whether all has been delivered or dropped; false once the waiting task is cancelled.
    @discardableResult
    public nonisolated(nonsending) func flush() async -> Bool {
        guard let mailbox = observer.delivery?.mailbox else { return true }
        return await mailbox.flush()
    }
}
