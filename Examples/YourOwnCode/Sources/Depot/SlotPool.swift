// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Hands out slots, each to one holder at a time. It takes no lock: the free slots are a list
/// whose head is replaced by compare and exchange.
public final class SlotPool: Sendable {
    private final class Slot: Sendable {
        /// The next free slot, or 0.
        let next: Atomic<Int>
        init(next: Int) { self.next = Atomic(next) }
    }

    private static let numbers = 0xFFFF

    private let slots: [Slot]
    /// The number of the first free slot, or 0, and above it how often a slot was taken. Without
    /// the count, a thread that was delayed in `take()` would not notice that other threads have
    /// taken its slot and the next one, and given the first back.
    private let head: Atomic<Int>

    /// A pool of the slots 1 to `count`.
    public init(count: Int) {
        precondition((1...Self.numbers).contains(count), "a pool has 1 to 65535 slots")
        slots = (1...count).map { Slot(next: $0 < count ? $0 + 1 : 0) }
        head = Atomic(1)
    }

    /// Takes a slot; nil if none is free.
    public func take() -> Int? {
        while true {
            let first = head.load(ordering: .acquiring)
            let number = first & Self.numbers
            if number == 0 { return nil }
            let next = slots[number - 1].next.load(ordering: .relaxed)
            let taken = (first | Self.numbers) &+ 1 | next
            if head.compareExchange(expected: first, desired: taken, ordering: .acquiring).exchanged { return number }
        }
    }

    /// Gives a slot back.
    public func give(_ number: Int) {
        while true {
            let first = head.load(ordering: .relaxed)
            slots[number - 1].next.store(first & Self.numbers, ordering: .relaxed)
            let given = first & ~Self.numbers | number
            if head.compareExchange(expected: first, desired: given, ordering: .releasing).exchanged { return }
        }
    }
}
