// SPDX-License-Identifier: Apache-2.0

extension DeferredDeliveries {
    /// Releases what a path has used while other paths are still to be relinked.
    func releasesAtOnce(_ objects: inout [AnyObject]) -> Bool {
        guard mutant(.aReferentIsReleasedWhilePathsAreRelinked) else { return false }
        objects = []
        return true
    }

    /// True if the delivery is made, or kept, in the wrong place.
    func addsWrongly(_ delivery: @escaping () -> Void) -> Bool {
        if mutant(.pathsAreNotifiedWhileOthersAreRelinked) {
            delivery()
            return true
        }
        guard mutant(.aPathsNewValueArrivesBeforeItsCause) else { return false }
        deliveries.append(delivery)
        return true
    }
}
