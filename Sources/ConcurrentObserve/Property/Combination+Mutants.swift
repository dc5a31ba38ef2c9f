// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
extension Combination {
    /// Reads what was noted before it has the property's lock: an older combination may come after a newer one.
    func publishOutOfOrder(_ property: Observed<Value>) {
        guard let present = lock.withLock({ takeUnpublished() }) else { return }
        property.value = present
    }
}
#endif
