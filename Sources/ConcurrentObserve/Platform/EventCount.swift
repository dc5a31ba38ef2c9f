// SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Lets threads sleep until an event. The waiting threads themselves check whether the event has
/// happened.
///
/// A waiter takes a ticket, checks, and sleeps only if there was no signal since the ticket, so no
/// wake-up is lost. (The "eventcount" of Reed and Kanodia, 1979.)
@safe package final class EventCount: @unchecked Sendable {
    // Unchecked: the pointer is constant, the words are atomic.

    /// The number of signals. It has its own memory on the heap, because its address must never
    /// change: the system waits at that address.
    private let signals: UnsafeMutablePointer<Atomic<UInt32>>
    private let sleepers = Atomic<UInt32>(0)

    package struct Ticket { fileprivate let signals: UInt32 }

    package init() {
        // Safe: never freed; every event count lives as long as the process.
        unsafe signals = UnsafeMutablePointer.allocate(capacity: 1)
        unsafe signals.initialize(to: Atomic(0))
    }

    /// Takes a ticket. The caller must take it before it checks for the event.
    package func ticket() -> Ticket {
        // Acquire: pairs with the count in signal(); the waiter's check sees what happened before
        // that signal. The comparison in cplatform_wait finds a later signal.
        unsafe Ticket(signals: signals.pointee.load(ordering: .acquiring))
    }

    /// Sleeps until a signal that came after `ticket`, or until `limit` has passed.
    package func wait(_ ticket: Ticket, atMost limit: Duration?) {
        // Relaxed: cplatform_wait executes a full barrier before it compares, which pairs with
        // signal(). Either it sees the new count, or the signalling thread sees this sleeper. No
        // ordering of this operation could replace that barrier.
        sleepers.add(1, ordering: .relaxed)
        unsafe cplatform_wait(signals, ticket.signals, limit?.nanoseconds ?? -1)
        // Relaxed: a count that is too high only costs an unnecessary wake-up.
        sleepers.subtract(1, ordering: .relaxed)
    }

    /// Waits until `condition` holds: spins for a moment, then sleeps. The thread that makes
    /// `condition` true must call `signal()`.
    package func wait(for name: StaticString, until condition: () -> Bool) {
        for _ in 0..<64 {
            if condition() { return }
            cplatform_spin_hint()
        }
        while true {
            let ticket = ticket()
            if condition() { return }
            wait(ticket, atMost: nil)
        }
    }

    /// Whether there was a signal since the ticket. The answer is only a hint.
    package func isSignalled(after ticket: Ticket) -> Bool {
        // Relaxed: a hint.
        unsafe signals.pointee.load(ordering: .relaxed) != ticket.signals
    }

    /// Wakes every sleeping thread whose ticket is older than this signal.
    package func signal() {
        // Sequentially consistent, both: the event is ordered before the count, and the count
        // before the check for sleepers. They pair with ticket(), and with the barrier in
        // wait(_:atMost:).
        unsafe signals.pointee.add(1, ordering: .sequentiallyConsistent)
        if sleepers.load(ordering: .sequentiallyConsistent) > 0 {
            unsafe cplatform_wake(signals, true)
        }
    }
}

extension Duration {
    /// The whole duration in nanoseconds, between 0 and the largest `Int64`.
    internal var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds < Int64.max / 1_000_000_000 else { return .max }
        return max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
