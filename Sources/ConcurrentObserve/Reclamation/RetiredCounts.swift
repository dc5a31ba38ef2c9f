// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The highest numbers of retired and reclaimed items that were seen.
///
/// What a thread hands over is counted twice, and subtracted: a look between the two steps finds less
/// than the one before. The highest number is exact at rest.
internal enum RetiredCounts {
    private static let retired = Atomic<UInt>(0)
    private static let reclaimed = Atomic<UInt>(0)

    /// Makes what is made once. See `Fork.prepare()`.
    static func prepare() { restart() }

    /// Notes a look.
    ///
    /// - Parameters:
    ///   - retired: What is retired, with what is counted twice.
    ///   - reclaimed: What of it is reclaimed, likewise.
    ///   - twice: How many of both are counted twice.
    /// - Returns: The highest numbers.
    static func note(_ retired: UInt, _ reclaimed: UInt, twice: UInt) -> (retired: UInt, reclaimed: UInt) {
        // A look may find what is not counted yet subtracted.
        self.retired.max(retired >= twice ? retired &- twice : 0, ordering: .relaxed)
        // Release and acquire: pair with each other. A look that finds another one's number of
        // reclaimed items finds its number of retired ones.
        let highest = self.reclaimed.max(reclaimed >= twice ? reclaimed &- twice : 0, ordering: .acquiringAndReleasing)
        // Relaxed: ordered by the exchange above.
        return (self.retired.load(ordering: .relaxed), highest.newValue)
    }

    /// In the child of a fork, which counts anew.
    static func restart() {
        // Relaxed, both: no other thread uses the library.
        retired.store(0, ordering: .relaxed)
        reclaimed.store(0, ordering: .relaxed)
    }
}
