// SPDX-License-Identifier: Apache-2.0

extension Observed: CommitMember {
    var member: Member { Member(self) }

    func enqueue(_ draft: borrowing Draft) {
        observers.enqueue(change(of: draft, ValueEncoding<Value>.copy(draft.words), cell.version))
    }

    func callCombinations(_ draft: borrowing Draft) {
        #if INSTRUMENTED
        if mutant(.aCommitIsDeliveredInParts) { return }
        #endif
        observers.deliverToCombinations(change(of: draft, ValueEncoding<Value>.copy(draft.words), cell.version))
    }

    private func change(of draft: borrowing Draft, _ new: Value, _ version: UInt64) -> Change<Value> {
        let old = ValueEncoding<Value>.copy(draft.replaced)
        return Change(.valueChanged, old, new, version, commitNumber: draft.commit)
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
            announce(change(of: draft, kept.new, draft.version))
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
