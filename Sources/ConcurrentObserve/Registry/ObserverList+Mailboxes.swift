// SPDX-License-Identifier: Apache-2.0

extension ObserverList {
    /// Whether mailboxes may receive the events.
    @inlinable @inline(__always)
    internal var mayHaveMailboxes: Bool { mayHave(ListHints.second) }

    /// Puts an event into the mailboxes. The caller must hold the lock that orders the source's
    /// events, if there is one.
    @inlinable @inline(never)
    internal borrowing func enqueue<Event: Sendable>(_ event: Event) {
        walk(.mailboxes()) { (mailbox: borrowing LentMailbox<Event>) in
            mailbox.withObject { receiver in receiver.enqueue(event) }
        }
    }

    /// Wakes the deliveries that empty mailboxes on other threads. Called under no lock, before the
    /// inline callbacks and before dropped events are destroyed, because both may block. (P7)
    @inlinable @inline(never)
    internal borrowing func wakeMailboxes<Event: Sendable>(of event: Event.Type) {
        walk(.mailboxes()) { (mailbox: borrowing LentMailbox<Event>) in
            mailbox.withObject { receiver in receiver.wake() }
        }
    }

    /// Runs serial deliveries on this thread, and destroys the events that mailboxes have dropped.
    /// Called under no lock, after the inline callbacks.
    @inlinable @inline(never)
    internal borrowing func drainMailboxes<Event: Sendable>(of event: Event.Type) {
        walk(.mailboxes()) { (mailbox: borrowing LentMailbox<Event>) in
            mailbox.withObject { receiver in receiver.drain() }
        }
    }
}
