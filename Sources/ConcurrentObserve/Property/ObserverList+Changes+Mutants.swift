// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
extension VersionedObserver {
    @usableFromInline
    static var receivesPriorWrongly: Bool? {
        if mutant(.allAreToldAhead) { return true }
        return mutant(.aChangeIsNotToldAhead) ? false : nil
    }
}
#endif
