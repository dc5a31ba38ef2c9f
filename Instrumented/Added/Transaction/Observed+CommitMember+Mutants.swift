// SPDX-License-Identifier: Apache-2.0

extension Observed {
    /// True if the change is published at once.
    func preparesWrongly(_ draft: inout Draft) -> Bool {
        if releasesWrongly(draft) {
            mutation.release()
            inject("commit.prepared")
            return true
        }
        if mutant(.aMemberLeftAloneIsNumbered), !draft.isSet {
            draft.words = cell.encode(cell.copyLocked())
            draft.isSet = true
        }
        guard mutant(.aCommitIsPublishedInParts), draft.isSet else { return false }
        draft.replaced = cell.latch.wordsLocked(firstOnly: false)
        _ = cell.latch.publish(draft.words)
        inject("commit.prepared")
        return true
    }

    /// True if the lock is released before the decision.
    func releasesWrongly(_ draft: borrowing Draft) -> Bool {
        draft.isHeldStill && mutant(.aPropertyThatIsReadIsReleasedEarly)
    }

    /// The version, where it is left as it is.
    var settledWrongly: UInt64? {
        if mutant(.aCommitIsPublishedInParts) { return cell.version }
        return mutant(.aPreparedMarkIsLeftBehind) ? cell.version &+ 1 : nil
    }
}
