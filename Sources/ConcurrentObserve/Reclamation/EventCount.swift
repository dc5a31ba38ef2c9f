// SPDX-License-Identifier: Apache-2.0

import CURCU
import Synchronization

/// Lets threads sleep until something has happened that they check themselves.
///
/// A waiter takes a ticket, checks, and sleeps only if nothing was signalled since the ticket: no
/// wake-up is lost. (The "eventcount" of Reed and Kanodia, 1979.)
@safe internal final class EventCount: @unchecked Sendable {
    // Unchecked: the pointer is constant, the word atomic.

    /// Counts the signals. On the heap by itself, so that its address, which the kernel waits on,
    /// never moves.
    private let signals: UnsafeMutablePointer<Atomic<UInt32>>
    private let sleepers = Atomic<UInt32>(0)

    struct Ticket { fileprivate let signals: UInt32 }

    init() {
        // Safe: never freed; every event count lives as long as the process.
        unsafe signals = UnsafeMutablePointer.allocate(capacity: 1)
        unsafe signals.initialize(to: Atomic(0))
    }

    /// Take it before checking what is awaited.
    func ticket() -> Ticket {
        // Acquire: the waiter's look sees what was signalled before; pairs with the count in
        // signal(). The kernel's comparison finds a later signal.
        unsafe Ticket(signals: signals.pointee.load(ordering: .acquiring))
    }

    /// Sleeps until a signal that came after `ticket`, or until `limit` has passed.
    func wait(_ ticket: Ticket, atMost limit: Duration?) {
        // Relaxed: the kernel executes a full barrier before it compares, which pairs with
        // signal(): the kernel sees the count there, or that thread sees this sleeper. No ordering
        // of this step could take the barrier's place.
        sleepers.add(1, ordering: .relaxed)
        unsafe curcu_futex_wait(signals, ticket.signals, limit?.nanoseconds ?? -1)
        // Relaxed: too high a count costs a wake-up, nothing else.
        sleepers.subtract(1, ordering: .relaxed)
    }

    /// Waits until `condition` holds, which is signalled here: spins for a moment, then sleeps.
    func wait(for name: StaticString, until condition: () -> Bool) {
        for _ in 0..<64 {
            if condition() { return }
            curcu_spin_hint()
        }
        while true {
            let ticket = ticket()
            if condition() { return }
            wait(ticket, atMost: nil)
        }
    }

    /// Whether there was a signal since the ticket. A hint: nothing is read because of it.
    func isSignalled(after ticket: Ticket) -> Bool {
        // Relaxed: as said; the explorer runs one thread at a time.
        unsafe signals.pointee.load(ordering: .relaxed) != ticket.signals
    }

    /// Wakes every thread that took a ticket before.
    func signal() {
        // Sequentially consistent, both: what happened is ordered before the count, the count
        // before the look for sleepers; pair with ticket() and with the kernel's barrier in
        // wait(_:atMost:).
        unsafe signals.pointee.add(1, ordering: .sequentiallyConsistent)
        if sleepers.load(ordering: .sequentiallyConsistent) > 0 {
            unsafe curcu_futex_wake(signals, Int32.max)
        }
    }
}

extension Duration {
    /// The whole duration in nanoseconds, at most the largest `Int64`, at least 0.
    internal var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds < Int64.max / 1_000_000_000 else { return .max }
        return max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
