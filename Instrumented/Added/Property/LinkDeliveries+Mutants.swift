// SPDX-License-Identifier: Apache-2.0

extension LinkDeliveries {
    /// Releases what a path has used while other paths are still to be relinked.
    func releasesAtOnce(_ objects: inout [AnyObject]) -> Bool {
        guard mutant(.aReferentIsReleasedWhilePathsAreRelinked) else { return false }
        objects = []
        return true
    }

    /// Makes a delivery while other paths are still to be relinked.
    borrowing func deliverAtOnce(_ delivery: Item) {
        switch delivery {
        case .evaluation(let follower): follower.settle(becauseOf: cause)
        case .path(let deliver), .late(let deliver), .serial(let deliver): deliver()
        }
    }

    /// Returns the delivery in the place of a path's that does not wait for the change itself.
    borrowing func misplaced(_ delivery: Item) -> Item {
        guard mutant(.aPathsNewValueArrivesBeforeItsCause), case .late(let deliver) = delivery else { return delivery }
        return .path(deliver)
    }
}
