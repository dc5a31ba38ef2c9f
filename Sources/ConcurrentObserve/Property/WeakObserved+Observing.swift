// SPDX-License-Identifier: Apache-2.0

/// A change that is delivered later waits as a reference that keeps nothing alive. The referent is
/// looked up when the observer is called. (P11)
extension WeakObserved: ObservableProperty {
    /// Begins an observation of the changes, the referent's death included. (P1, P4, P12)
    ///
    /// Observers receive the referents themselves and hold them while they run. When the referent
    /// has died, they receive `.valueChanged` with nil as the new value, and nil as the old one,
    /// which is gone. No prior delivery announces that. The old value of any change is nil if its
    /// referent has died by then. An owner that is the referent as well is not notified of its own
    /// death.
    ///
    /// - Complexity: O(1) amortised.
    public func attach(_ observer: PropertyObserver<Referent?>) -> ObservationToken {
        storage.attach(Self.seen(observer))
    }

    /// Attaches an observer without retaining the property; nil once the property is gone. (P11)
    public var weakAttachment: WeakAttachment<Referent?> {
        let attach = storage.weakAttachment
        return { observer in attach(Self.seen(observer)) }
    }

    /// Makes an observer of the references that the property stores. A commit may call it under its
    /// locks: looking a referent up runs no user code, and the combination keeps the referent.
    private static func seen(_ observer: PropertyObserver<Referent?>) -> PropertyObserver<WeakBox<Referent>> {
        let see: @Sendable (Change<WeakBox<Referent>>) -> Change<Referent?> = observer.seeing()
        return observer.pulledBack(asCombination: !observer.isComparing) { see($0) }
    }
}
