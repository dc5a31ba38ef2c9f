// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What one observation has seen of a weak property whose changes it compares: whether that was nil. It keeps no referent. (P11)
///
/// The old referent of a change may be gone. If the observer has received it, it equals nothing that
/// comes after its death, nil included, and the old value is nil. If it was gone before the observer
/// received it, the observer has received a nil referent, and that is the old value.
internal final class SeenReferents: Sendable {
    /// Twice the version of the last change, one more if its value was nil; ``nothing`` before.
    private let last = Atomic<UInt64>(SeenReferents.nothing)
    /// Whether the changes come one at a time, in order. Otherwise only the change before the next one is known to be the last.
    private let isInOrder: Bool

    private static var nothing: UInt64 { .max }

    init(isInOrder: Bool) { self.isInOrder = isInOrder }

    /// The change with its referents. Where user code may run.
    func see<Referent>(_ change: Change<WeakBox<Referent>>) -> Change<Referent?> {
        let new = change.new.referent
        let old = change.old.flatMap { old -> Referent?? in
            let referent = old.referent
            return referent == nil && !old.isNone && !wasNil(before: change.version) ? .none : .some(referent)
        }
        // Relaxed: only what the change with the version before has stored is used, or that of a change that came before.
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
    /// How an observer of referents sees the changes of the references to them.
    internal func seeing<Referent>() -> @Sendable (Change<WeakBox<Referent>>) -> Change<Referent?>
    where Value == Referent? {
        guard isComparing else { return { $0.map(\.referent) } }
        let isInOrder = if case .mailbox = form { true } else { false }
        let seen = SeenReferents(isInOrder: isInOrder)
        return { seen.see($0) }
    }
}
