// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Magazine {
    /// Whether what frames pin is not asked for.
    func passesOverFrames(_ reference: UInt, _ boxType: UInt) -> Bool {
        mutant(.aMagazineIsReleasedUnseen)
            || mutant(.aBoxIsRecycledWhileItIsRead) && Box.isBox(reference, type: boxType)
    }

    /// Does not look whether the release has left room.
    borrowing func makeRoomOnce(for weight: Int, handOver: (UInt) -> Void) {
        if isFull(for: weight) { release(handOver: handOver) }
    }

    /// Claims in two steps, between which another thread may claim the same.
    borrowing func takeTwice(_ first: UInt, _ end: UInt) -> Bool {
        guard head.load(ordering: .acquiring) == first else { return false }
        exploredStep("magazine.claim")
        inject("magazine.copied")
        head.store(end, ordering: .releasing)
        return true
    }
}
