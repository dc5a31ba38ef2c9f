// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The number of events that wait in all mailboxes together, and its highest value so far.
///
/// The number is the sum of the counts of all threads. The peak is the highest sum that a call of
/// `look()` has found.
internal enum PendingEvents {
    private static let highest = Atomic<Int>(0)

    /// The highest sum found so far.
    static var peak: Int { highest.load(ordering: .relaxed) }  // Relaxed: a statistic.

    /// Returns the number of events that wait now, and updates the peak. Any thread may call it. It
    /// takes no lock.
    ///
    /// - Complexity: O(threads).
    @discardableResult
    static func look() -> Int {
        var sum = 0
        unsafe ThreadRecords.shared.forEach { record in
            // Relaxed: a statistic.
            unsafe sum &+= record.pointee.pendingCount.load(ordering: .relaxed)
        }
        // The sum can be negative: a thread may count events as received before the sender has
        // counted them as sent.
        let pending = max(0, sum)
        _ = highest.max(pending, ordering: .relaxed)  // Relaxed: a statistic.
        return pending
    }
}
