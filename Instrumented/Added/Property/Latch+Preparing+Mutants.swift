// SPDX-License-Identifier: Apache-2.0

extension Latch {
    /// Takes every prepared version for a committed one.
    func resolveWrongly(_ word: UInt64) -> UInt64? {
        mutant(.aPreparedVersionCountsAsCommitted) ? (word & ~Self.preparedMark) &+ 1 : nil
    }
}
