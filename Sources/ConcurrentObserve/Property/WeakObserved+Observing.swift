// SPDX-License-Identifier: Apache-2.0

/// What is delivered later waits as a reference that keeps nothing alive: the referent is looked up when the observer is called. (P11)
extension WeakObserved: ObservableProperty {
    /// Begins an observation of the changes, the referent's death included. (P1, P4, P12)
    ///
    /// Observers receive the referents themselves and hold them while they run. When the referent has died, they receive `.valueChanged` with
    /// nil as the new value and nil as the old one, which is gone; no prior delivery announces it. The old value of a change is nil, too, if
    /// that referent has died meanwhile. An owner that is the referent as well is not notified of its own death.
    ///
    /// - Complexity: O(1) amortised.
    public func attach(_ observer: PropertyObserver<Referent?>) -> ObservationToken {
        storage.attach(Self.seen(observer))
    }

    /// Begins observations for as long as the property lives. (P11)
    public var weakAttachment: WeakAttachment<Referent?> {
        let attach = storage.weakAttachment
        return { observer in attach(Self.seen(observer)) }
    }

    /// The observer, as one of the references that the property stores. A commit may call it under the locks: to look a referent up
    /// runs no user code, and the combination keeps it.
    private static func seen(_ observer: PropertyObserver<Referent?>) -> PropertyObserver<WeakBox<Referent>> {
        let see: @Sendable (Change<WeakBox<Referent>>) -> Change<Referent?> = observer.seeing()
        return observer.pulledBack(asCombination: !observer.isComparing) { see($0) }
    }
}
