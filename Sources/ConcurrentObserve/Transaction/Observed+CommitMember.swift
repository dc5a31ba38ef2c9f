// SPDX-License-Identifier: Apache-2.0

extension Observed: CommitMember {
    var lockAddress: UInt { cell.source }

    func lockForBody(_ record: UnsafeMutablePointer<ThreadRecord>) {
        // Safe: records are never freed.
        unsafe mutation.acquireForCommit(record, cell.latch.owner)
    }

    func leaveBody() { mutation.leaveCommitsBody(cell.latch.owner) }

    func prepare(_ draft: inout Draft, by record: UnsafeMutablePointer<ThreadRecord>) {
        #if INSTRUMENTED
        if preparesWrongly(&draft) { return }
        #endif
        // What the body has left alone does not change. (P19)
        guard draft.isSet else { return }
        // Both words, so that nothing is asked of the type: this code is compiled for any.
        draft.replaced = cell.latch.wordsUnderLock(firstOnly: false)
        cell.latch.prepare(draft.words, by: UInt(bitPattern: record))
    }

    func enqueue(_ draft: borrowing Draft) {
        if draft.isSet && observers.mayHaveMailboxes { enqueueSet(draft) }
    }

    // Out of line, here and below: what needs the type's metadata, which unobserved properties do not pay for.
    @inline(never)
    private func enqueueSet(_ draft: borrowing Draft) {
        let version = cell.version
        let new = ValueEncoding<Value>.copy(draft.words)
        observers.enqueue(
            Change(reason: .valueChanged, old: ValueEncoding<Value>.copy(draft.replaced), new: new, version: version)
        )
    }

    var isPossiblyObserved: Bool { observers.isPossiblyObserved }

    func callCombinations(_ draft: borrowing Draft) {
        #if INSTRUMENTED
        if mutant(.aCommitIsDeliveredInParts) { return }
        #endif
        if draft.isSet && observers.isPossiblyObserved { callCombinationsWithChange(draft) }
    }

    @inline(never)
    private func callCombinationsWithChange(_ draft: borrowing Draft) {
        let (old, new) = (ValueEncoding<Value>.copy(draft.replaced), ValueEncoding<Value>.copy(draft.words))
        observers.deliverToCombinations(Change(reason: .valueChanged, old: old, new: new, version: cell.version))
    }

    func settle(_ draft: inout Draft) {
        if draft.isSet {
            // A copy, while the lock keeps the value; observers that register from now on have a later version.
            if observers.isPossiblyObserved { keepAnnouncement(&draft) }
            draft.version = settleVersion()
        }
        mutation.release()
    }

    @inline(never)
    private func keepAnnouncement(_ draft: inout Draft) {
        let new = Announcement(ValueEncoding<Value>.copy(draft.words))
        // Safe: announce(_:) takes the reference.
        unsafe draft.announcement = Unmanaged.passRetained(new).toOpaque()
    }

    private func settleVersion() -> UInt64 {
        #if INSTRUMENTED
        if let version = settledWrongly { return version }
        #endif
        return cell.latch.settle()
    }

    func announce(_ draft: inout Draft) {
        // Safe: compared alone.
        if draft.isSet, unsafe draft.announcement != nil || draft.mayBeReference { announceAndRetire(&draft) }
    }

    @inline(never)
    private func announceAndRetire(_ draft: inout Draft) {
        let replaced = ValueCell<Value>.Replaced(words: draft.replaced, version: draft.version, source: cell.source)
        if let announcement = unsafe draft.announcement {
            // Safe: settle(_:) has stored it, for this property.
            let kept = unsafe Unmanaged<Announcement<Value>>.fromOpaque(announcement).takeRetainedValue()
            unsafe draft.announcement = nil
            announce(replaced, kept.new)
        }
        replaced.retire()
    }

    func unlock() { mutation.release() }

    func discard(_ draft: inout Draft) {
        guard draft.isSet else { return }
        draft.isSet = false
        ValueEncoding<Value>.discard(draft.words)
    }

    func tryHold() -> MutationLock.Hold? { mutation.tryHold(cell.latch.owner) }

    func release(_ hold: MutationLock.Hold) { mutation.release(hold) }
}

extension Observed: MemberHolding {
    func addMembers(to members: inout [any CommitMember]) -> Bool {
        members.append(self)
        return true
    }
}
