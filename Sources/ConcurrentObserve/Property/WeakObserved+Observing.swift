// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Makes a weak property observable. While a change waits to be delivered, it keeps no referent
/// alive. The referents are looked up when the observer is called. (P11)
extension WeakObserved: ObservableProperty {
    /// Begins an observation of the changes, including the referent's death. (P1, P4, P12)
    ///
    /// Observers receive the referents themselves and hold them while they run. When the referent
    /// has died, they receive `.valueChanged` with nil as the new value. The old value is nil, too,
    /// because the referent is gone. No prior delivery is made before the death. The old value of
    /// any change is nil if its referent has died by then. If the owner of the observation is also
    /// the referent, it is not notified of its own death.
    ///
    /// - Complexity: O(1) amortised.
    public func attach(_ observer: PropertyObserver<Referent?>) -> ObservationToken {
        storage.attach(Self.seen(observer))
    }

    /// A function that attaches an observer, but does not retain the property. It returns nil once
    /// the property is gone. (P11)
    public var weakAttachment: @Sendable (PropertyObserver<Referent?>) -> ObservationToken? {
        let attach = storage.weakAttachment
        return { observer in attach(Self.seen(observer)) }
    }

    /// Makes an observer of the weak references that the property stores. It looks up the referents
    /// of each change, and passes them to `observer`. If `observer` compares no values, a commit
    /// may call the new observer under its locks: looking up a referent runs no user code, and the
    /// combination keeps the referent.
    internal static func seen(_ observer: PropertyObserver<Referent?>) -> PropertyObserver<WeakBox<Referent>> {
        let see: @Sendable (Change<WeakBox<Referent>>) -> Change<Referent?> = observer.seeing()
        return observer.pulledBack(asCombination: !observer.isComparing) { see($0) }
    }
}

/// Records whether the last value that an observation of a weak property received was nil. Only
/// observations that compare values need it. It keeps no referent. (P11)
///
/// The old referent of a change may have died. Then there are two cases. If the observer received
/// that referent, the change has no old value, because a dead referent equals no later value, not
/// even a nil referent. If the referent died before the observer received it, the observer received
/// a nil referent instead, and the old value of the change is a nil referent.
internal final class SeenReferents: Sendable {
    /// Twice the version of the last change, plus one if its value was nil; ``nothing`` before the
    /// first one.
    private let last = Atomic<UInt64>(SeenReferents.nothing)
    /// Whether the observer receives the changes one at a time, in order. If not, `last` is used
    /// only if it has the version directly before the present change.
    private let isInOrder: Bool

    private static var nothing: UInt64 { .max }

    init(isInOrder: Bool) { self.isInOrder = isInOrder }

    /// Returns a change that has the referents in place of the weak references. Must be called
    /// where user code may run.
    func see<Referent>(_ change: Change<WeakBox<Referent>>) -> Change<Referent?> {
        let new = change.new.referent
        let old = change.old.flatMap { old -> Referent?? in
            let referent = old.referent
            return referent == nil && !old.isNone && !wasNil(before: change.version) ? .none : .some(referent)
        }
        // Relaxed: the stored word is used only for the next version, or if the changes come in
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
    /// Returns the function that makes, for this observer, a change of referents from a change of
    /// weak references.
    internal func seeing<Referent>() -> @Sendable (Change<WeakBox<Referent>>) -> Change<Referent?>
    where Value == Referent? {
        guard isComparing else { return { $0.map(\.referent) } }
        let isInOrder = if case .mailbox = form { true } else { false }
        let seen = SeenReferents(isInOrder: isInOrder)
        return { seen.see($0) }
    }
}
