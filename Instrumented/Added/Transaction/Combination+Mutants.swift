// SPDX-License-Identifier: Apache-2.0

extension Combination {
    /// Publishes changes before the user's observer is there.
    func beginLate(
        _ observer: PropertyObserver<Value>,
        of property: Observed<Value>
    ) -> ObservationToken {
        open(property)
        return property.attach(observer)
    }

    /// One more step of the same values.
    func addWrongStep() {
        noted += 1
        addStepLocked()
    }

    /// Reads what was noted before it has the property's lock: an older combination may come after
    /// a newer one.
    func publishOutOfOrder(_ property: Observed<Value>) {
        guard let present = lock.withLock({ takeUnpublishedLocked() }) else { return }
        property.value = present.value
    }
}
