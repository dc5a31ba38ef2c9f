// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A change that is delivered later waits as a reference that keeps nothing alive. The referent is
/// looked up when the observer is called. (P11)
extension WeakObserved: ObservableProperty {
    /// Begins an observation of the changes, the referent's death included. (P1, P4, P12)
    ///
    /// Observers receive the referents themselves and hold them while they run. When the referent
    /// has died, they receive `.valueChanged` with nil as the new value, and nil as the old one,
    /// which is gone. No prior delivery is made before the death. The old value of any change is
    /// nil if its referent has died by then. An owner that is the referent as well is not notified
    /// of its own death.
    ///
    /// - Complexity: O(1) amortised.
    public func attach(_ observer: PropertyObserver<Referent?>) -> ObservationToken {
        storage.attach(Self.seen(observer))
    }

    /// Attaches an observer without retaining the property; nil once the property is gone. (P11)
    public var weakAttachment: @Sendable (PropertyObserver<Referent?>) -> ObservationToken? {
        let attach = storage.weakAttachment
        return { observer in attach(Self.seen(observer)) }
    }

    /// Makes an observer of the references that the property stores. A commit may call it under its
    /// locks: looking a referent up runs no user code, and the combination keeps the referent.
    internal static func seen(_ observer: PropertyObserver<Referent?>) -> PropertyObserver<WeakBox<Referent>> {
        let see: @Sendable (Change<WeakBox<Referent>>) -> Change<Referent?> = observer.seeing()
        return observer.pulledBack(asCombination: !observer.isComparing) { see($0) }
    }
}

/// Records whether the last value that an observation of a weak property received was nil. Only
/// observations that compare values need it. It keeps no referent. (P11)
///
/// The old referent of a change may have died. If the observer has received it, it equals nothing
/// that comes after its death, not even nil, and `old` is nil: there is no old value. If it died
/// before the observer received it, the observer received a nil referent, and `old` is a nil
/// referent.
internal final class SeenReferents: Sendable {
    /// Twice the version of the last change, plus one if its value was nil; ``nothing`` before the
    /// first one.
    private let last = Atomic<UInt64>(SeenReferents.nothing)
    /// Whether the changes come one at a time, in order. Otherwise the last change is known only if
    /// its version is the one before the next.
    private let isInOrder: Bool

    private static var nothing: UInt64 { .max }

    init(isInOrder: Bool) { self.isInOrder = isInOrder }

    /// Returns the change with its referents. Called where user code may run.
    func see<Referent>(_ change: Change<WeakBox<Referent>>) -> Change<Referent?> {
        let new = change.new.referent
        let old = change.old.flatMap { old -> Referent?? in
            let referent = old.referent
            return referent == nil && !old.isNone && !wasNil(before: change.version) ? .none : .some(referent)
        }
        // Relaxed: what is stored here is used only for the next version, or if the changes come in
        // order.
        last.store(change.version << 1 | (new == nil ? 1 : 0), ordering: .relaxed)
        return Change<Referent?>(change.reason, old, new, change.version, commitNumber: change.commitNumber)
    }

    private func wasNil(before version: UInt64) -> Bool {
        // Relaxed: as above.
        let last = last.load(ordering: .relaxed)
        return last != Self.nothing && last & 1 == 1 && (isInOrder || last >> 1 == version - 1)
    }
}

extension PropertyObserver {
    /// Returns the function that makes a change of referents, for this observer, from a change of
    /// the references to them.
    internal func seeing<Referent>() -> @Sendable (Change<WeakBox<Referent>>) -> Change<Referent?>
    where Value == Referent? {
        guard isComparing else { return { $0.map(\.referent) } }
        let isInOrder = if case .mailbox = form { true } else { false }
        let seen = SeenReferents(isInOrder: isInOrder)
        return { seen.see($0) }
    }
}
