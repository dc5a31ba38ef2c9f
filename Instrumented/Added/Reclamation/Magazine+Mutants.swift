// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Magazine {
    /// Claims in two steps, between which another thread may claim the same.
    borrowing func takeTwice(_ first: UInt, _ end: UInt) -> Bool {
        guard head.load(ordering: .acquiring) == first else { return false }
        exploredStep("magazine.claim")
        inject("magazine.copied")
        head.store(end, ordering: .releasing)
        return true
    }
}
