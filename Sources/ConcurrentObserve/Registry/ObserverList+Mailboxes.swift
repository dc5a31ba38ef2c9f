// SPDX-License-Identifier: Apache-2.0

extension ObserverList {
    /// Whether mailboxes may receive the events.
    @inlinable @inline(__always)
    internal var mayHaveMailboxes: Bool { mayHave(ListHints.second) }

    /// Puts an event into the mailboxes. Under the lock that orders the source's events, if it has
    /// one.
    @inlinable @inline(never)
    internal borrowing func enqueue<Event: Sendable>(_ event: Event) {
        walk(.mailboxes()) { (mailbox: borrowing LentMailbox<Event>) in
            mailbox.withObject { receiver in receiver.enqueue(event) }
        }
    }

    /// Wakes what empties mailboxes elsewhere. Under no lock, before any inline callback, and
    /// before anything that was dropped is destroyed: these may block. (P7)
    @inlinable @inline(never)
    internal borrowing func wakeMailboxes<Event: Sendable>(of event: Event.Type) {
        walk(.mailboxes()) { (mailbox: borrowing LentMailbox<Event>) in
            mailbox.withObject { receiver in receiver.wake() }
        }
    }

    /// Runs serial deliveries on this thread, and has what mailboxes have dropped destroyed. Under
    /// no lock, after the inline callbacks.
    @inlinable @inline(never)
    internal borrowing func drainMailboxes<Event: Sendable>(of event: Event.Type) {
        walk(.mailboxes()) { (mailbox: borrowing LentMailbox<Event>) in
            mailbox.withObject { receiver in receiver.drain() }
        }
    }
}
