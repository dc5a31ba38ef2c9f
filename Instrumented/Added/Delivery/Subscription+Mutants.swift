// SPDX-License-Identifier: Apache-2.0

extension SharedMailbox {
    /// Resumes the task of an iterator under the lock.
    ///
    /// - Returns: Whether the caller must begin a delivery.
    @usableFromInline
    final func resumesLocked(_ mailbox: inout Mailbox<Event>) -> Bool {
        guard mailbox.wake() else { return false }
        guard let subscription = self as? Subscription<Event> else { return true }
        let event = mailbox.take(isCountedLater: subscription.isCountedLater)
        subscription.takeWaiterLocked()?.resume(returning: event ?? nil)
        return false
    }
}
