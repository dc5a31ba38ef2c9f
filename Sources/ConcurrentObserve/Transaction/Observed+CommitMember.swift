// SPDX-License-Identifier: Apache-2.0

extension Observed: CommitMember {
    var member: Member { Member(self) }

    func enqueueLocked(_ draft: borrowing Draft) {
        observers.enqueue(change(of: draft, ValueEncoding<Value>.copy(draft.words), cell.version))
    }

    func callCombinedLocked(_ draft: borrowing Draft) {
        let version = cell.version
        let change = change(of: draft, ValueEncoding<Value>.copy(draft.words), version)
        observers.deliverToCombined(change, of: version)
    }

    @inline(__always)
    private func change(of draft: borrowing Draft, _ new: Value, _ version: UInt64) -> Change<Value> {
        let old = ValueEncoding<Value>.copy(draft.replaced)
        return Change(.valueChanged, old, new, version, commitNumber: draft.commit)
    }

    func keepAnnouncementLocked(_ draft: inout Draft) {
        let new = Announcement(ValueEncoding<Value>.copy(draft.words))
        // Safe: announce(_:) takes the reference.
        unsafe draft.announcement = Unmanaged.passRetained(new).toOpaque()
    }

    func announce(_ draft: inout Draft) {
        let replaced = ValueCell<Value>.Replaced(words: draft.replaced, version: draft.version, source: cell.address)
        if let announcement = unsafe draft.announcement {
            // Safe: keepAnnouncementLocked(_:) has stored it, for this property.
            let kept = unsafe Unmanaged<Announcement<Value>>.fromOpaque(announcement).takeRetainedValue()
            unsafe draft.announcement = nil
            let change = change(of: draft, kept.new, draft.version)
            if kept.deferred == nil { announce(change, of: draft.version) } else { announce(change, kept) }
        }
        replaced.retire()
        draft.releaseKept()
    }

    private func announce(_ change: Change<Value>, _ kept: Announcement<Value>) {
        kept.deferred?.deliver()
        observers.deliver(change, of: change.version)
        kept.deferred?.deliverLate()
        if observers.mayHaveMailboxes { observers.drainMailboxes(of: Change<Value>.self) }
    }

    func relink(_ draft: borrowing Draft) {
        guard let announcement = unsafe draft.announcement else { return }
        // Safe: keepAnnouncementLocked(_:) has stored it, for this property.
        let kept = unsafe Unmanaged<Announcement<Value>>.fromOpaque(announcement).takeUnretainedValue()
        kept.deferred = notifyLinks(version: draft.version)
        if observers.mayHaveMailboxes { observers.wakeMailboxes(of: Change<Value>.self) }
    }

    func discard(_ draft: inout Draft) {
        draft.isSet = false
        ValueEncoding<Value>.discard(draft.words)
        draft.releaseKept()
    }
}

extension Observed: MemberHolding {
    func addMembers(to found: inout FoundMembers) { found.add(self) }
}

/// The new value of a commit's change, kept for its observers.
internal final class Announcement<Value: Sendable> {
    let new: Value
    /// The deliveries that remain after the paths which lead on from the property are relinked. Nil
    /// before that, and if no member may have mailboxes or links.
    var deferred: LinkDeliveries?

    init(_ new: Value) { self.new = new }
}
