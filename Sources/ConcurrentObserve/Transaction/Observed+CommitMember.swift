// SPDX-License-Identifier: Apache-2.0

extension Observed: CommitMember {
    var member: Member { Member(self) }

    func enqueue(_ draft: borrowing Draft) { observers.enqueue(change(of: draft)) }

    func callCombinations(_ draft: borrowing Draft) {
        #if INSTRUMENTED
        if mutant(.aCommitIsDeliveredInParts) { return }
        #endif
        observers.deliverToCombinations(change(of: draft))
    }

    /// Under the lock, after the decision.
    private func change(of draft: borrowing Draft) -> Change<Value> {
        let (old, new) = (ValueEncoding<Value>.copy(draft.replaced), ValueEncoding<Value>.copy(draft.words))
        return Change(reason: .valueChanged, old: old, new: new, version: cell.version)
    }

    func keepAnnouncement(_ draft: inout Draft) {
        let new = Announcement(ValueEncoding<Value>.copy(draft.words))
        // Safe: announce(_:) takes the reference.
        unsafe draft.announcement = Unmanaged.passRetained(new).toOpaque()
    }

    func announce(_ draft: inout Draft) {
        let replaced = ValueCell<Value>.Replaced(words: draft.replaced, version: draft.version, source: cell.source)
        if let announcement = unsafe draft.announcement {
            // Safe: keepAnnouncement(_:) has stored it, for this property.
            let kept = unsafe Unmanaged<Announcement<Value>>.fromOpaque(announcement).takeRetainedValue()
            unsafe draft.announcement = nil
            announce(replaced, kept.new)
        }
        replaced.retire()
        draft.releaseKept()
    }

    func discard(_ draft: inout Draft) {
        draft.isSet = false
        ValueEncoding<Value>.discard(draft.words)
        draft.releaseKept()
    }
}

extension Observed: MemberHolding {
    func addMembers(to members: inout [any CommitMember]) -> Bool {
        members.append(self)
        return true
    }
}
