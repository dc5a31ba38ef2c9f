// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How many events wait in all mailboxes together, and how many there have been at most.
///
/// The figure is the sum of what each thread counts. The peak is the highest sum that a look has
/// found.
internal enum PendingEvents {
    private static let highest = Atomic<Int>(0)

    /// The highest sum that was found so far.
    static var peak: Int { highest.load(ordering: .relaxed) }  // Relaxed: a statistic.

    /// Adds up what waits now. Any thread; takes no lock.
    ///
    /// - Complexity: O(threads).
    @discardableResult
    static func look() -> Int {
        var sum = 0
        unsafe ThreadRecords.shared.forEach { record in
            // Relaxed: a statistic.
            unsafe sum &+= record.pointee.pendingCount.load(ordering: .relaxed)
        }
        // Other threads may count events as received before the sender has counted them as sent.
        let pending = max(0, sum)
        _ = highest.max(pending, ordering: .relaxed)  // Relaxed: a statistic.
        return pending
    }
}
