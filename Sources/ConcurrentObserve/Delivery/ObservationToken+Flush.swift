// SPDX-License-Identifier: Apache-2.0

extension ObservationToken {
    /// Suspends until every change whose setter returned before the call is delivered or dropped.
    /// Delivered means that its callback has returned.
    ///
    /// It does not wait for changes that begin later. It may be called from anywhere, also for an
    /// observation that has ended: the changes that were left are dropped. An inline observation
    /// has no mailbox, and a change is delivered before its setter returns, so there is nothing to
    /// wait for. It waits for callbacks without a bound; do not let a callback wait for it.
    ///
    /// ```swift
    /// car.mileage.value = 7
    /// await token.flush()
    /// // The callback has returned for 7.
    /// ```
    ///
    /// - Returns: True if all changes were delivered or dropped; false once the waiting task is
    ///   cancelled.
    @discardableResult
    public nonisolated(nonsending) func flush() async -> Bool {
        guard let mailbox = observer.delivery?.mailbox else { return true }
        return await mailbox.flush()
    }
}
