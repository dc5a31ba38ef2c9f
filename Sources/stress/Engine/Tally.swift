// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A number that threads count up and down.
///
/// Every access is relaxed: it must order nothing of what is under test. A thread may read the
/// number, but nothing else because of it.
final class Tally: Sendable {
    private let number = Atomic<UInt64>(0)

    var value: UInt64 { number.load(ordering: .relaxed) }

    /// Adds one. Returns the number with it.
    @discardableResult
    func increment() -> UInt64 { number.add(1, ordering: .relaxed).newValue }

    /// Puts another number there. Returns the one before.
    func exchange(_ value: UInt64) -> UInt64 { number.exchange(value, ordering: .relaxed) }

    static func += (tally: Tally, amount: UInt64) { tally.number.add(amount, ordering: .relaxed) }
    static func -= (tally: Tally, amount: UInt64) { tally.number.subtract(amount, ordering: .relaxed) }
}
