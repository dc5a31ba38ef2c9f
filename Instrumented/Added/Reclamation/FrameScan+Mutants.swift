// SPDX-License-Identifier: Apache-2.0

extension FrameScan {
    /// The answer of `holds` with a seeded bug on that concerns the item; nil without one.
    func holdsWrongly(_ item: RetiredItem) -> Bool? {
        if mutant(.reclaimAtOnce) { return false }
        switch item.hold {
        case .nothing: return nil
        case .pin, .validatedPin: return mutant(.pinsAreNotScanned) ? false : nil
        case .current:
            if mutant(.currentObserversAreNotScanned) { return false }
            return mutant(.aRunningCallbackHoldsAllClosures) && hasCurrents ? true : nil
        }
    }
}
