// SPDX-License-Identifier: Apache-2.0

extension ObservationScope {
    /// Suspends until every event that was in a mailbox of the scope is delivered or dropped.
    /// Delivered means that its callback has returned. Iterators are not waited for.
    ///
    /// - Returns: False once the waiting task is cancelled.
    package nonisolated(nonsending) func flush() async -> Bool {
        for made in observations {
            guard await made.observer.delivery?.mailbox?.flush() ?? true else { return false }
        }
        return true
    }
}

extension MadeObservation {
    /// The counts of the events that wait for the observation's closure; nil if it is inline, and
    /// for an iterator.
    package var counts: DeliveryCounts? {
        guard let delivery = observer.delivery, delivery.mailbox != nil else { return nil }
        return delivery.counter.counts
    }
}
