// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A number that threads increment and decrement.
///
/// Every access is relaxed, because it must not order the code under test. A thread may read the
/// number, but must read nothing else because of it.
final class Tally: Sendable {
    private let number = Atomic<UInt64>(0)

    var value: UInt64 { number.load(ordering: .relaxed) }

    /// Adds one. Returns the new number.
    @discardableResult
    func increment() -> UInt64 { number.add(1, ordering: .relaxed).newValue }

    /// Stores another number. Returns the previous one.
    func exchange(_ value: UInt64) -> UInt64 { number.exchange(value, ordering: .relaxed) }

    static func += (tally: Tally, amount: UInt64) { tally.number.add(amount, ordering: .relaxed) }
    static func -= (tally: Tally, amount: UInt64) { tally.number.subtract(amount, ordering: .relaxed) }
}
