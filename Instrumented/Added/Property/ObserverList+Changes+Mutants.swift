// SPDX-License-Identifier: Apache-2.0

extension VersionedObserver {
    @usableFromInline
    static var receivesPriorWrongly: Bool? {
        if mutant(.everyObserverReceivesPriorDeliveries) { return true }
        return mutant(.aPriorDeliveryIsMissing) ? false : nil
    }
}
