// SPDX-License-Identifier: Apache-2.0

extension WeakObserved {
    /// The present box, if its referent is set again and the seeded bug is on; nil otherwise.
    func swallowed(_ referent: Referent?) -> WeakBox<Referent>? {
        guard mutant(.aRepeatedSetIsDropped) else { return nil }
        let present = storage.snapshot().value
        return present.referent === referent ? present : nil
    }
}

extension Observed {
    /// The referent that was there, or nil if it has died, though the property may refer to another
    /// by then.
    func referentOfOneLook<Referent>() -> (value: Referent?, version: UInt64) where Value == WeakBox<Referent> {
        let (box, version) = snapshot()
        inject("weak.read")
        return (box.read(), version)
    }
}

extension WeakBox {
    /// Remembers where the referent is, dead or not.
    func remember(_ referent: Referent, in observer: Observer) {
        if mutant(.aDyingReferentIsRead) { observer.note = UInt(bitPattern: ObjectIdentifier(referent)) }
    }

    /// The referent, dead or not.
    func remembered(by watch: ObservationToken?) -> Referent? {
        // Wrong, and meant to be: nothing keeps the object.
        watch.map { WeakReference.unguarded(at: $0.observer.note) }
    }
}
