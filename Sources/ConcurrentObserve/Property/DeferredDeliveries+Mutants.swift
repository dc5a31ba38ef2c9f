// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
extension DeferredDeliveries {
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
#endif
