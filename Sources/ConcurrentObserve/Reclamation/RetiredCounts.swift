// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The highest numbers of retired and reclaimed items that a look has found.
///
/// A reference that a thread hands over is counted twice, and then subtracted once. A reading between
/// the two steps may be lower than the one before it, so the highest reading is kept. It is exact
/// once no thread retires.
internal enum RetiredCounts {
    private static let retired = Atomic<UInt>(0)
    private static let reclaimed = Atomic<UInt>(0)

    /// Records the numbers of a look.
    ///
    /// - Parameters:
    ///   - retired: The number of retired items. It counts items that were handed over twice.
    ///   - reclaimed: The number of reclaimed items. It counts items that were handed over twice.
    ///   - twice: The number of items that were handed over.
    /// - Returns: The highest numbers.
    static func note(_ retired: UInt, _ reclaimed: UInt, twice: UInt) -> (retired: UInt, reclaimed: UInt) {
        // `twice` may include an item that the other numbers do not count yet. Relaxed: the
        // exchange below publishes it.
        self.retired.max(retired >= twice ? retired &- twice : 0, ordering: .relaxed)
        // Release and acquire: pair with each other. A look that reads the number of reclaimed
        // items of another look also reads its number of retired items.
        let highest = self.reclaimed.max(reclaimed >= twice ? reclaimed &- twice : 0, ordering: .acquiringAndReleasing)
        // Relaxed: ordered by the exchange above.
        return (self.retired.load(ordering: .relaxed), highest.newValue)
    }
}
