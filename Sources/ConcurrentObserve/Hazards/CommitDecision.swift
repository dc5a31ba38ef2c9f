// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Says whether the changes that a thread's commit has prepared are made. It is one word, so all of
/// them become visible at once. (P19)
///
/// It is part of the thread's record, which is never freed. A late reader may read the decision of
/// a later commit; then it finds that the property is not prepared any more. A thread has one
/// commit at a time.
internal struct CommitDecision: ~Copyable, Sendable {
    let isCommitted = Atomic<Bool>(false)

    init() {}

    /// Resets the decision before the first property is prepared. All earlier commits of the thread
    /// are settled.
    borrowing func reset() {
        // Release: the earlier commit has settled its properties before this store; pairs with the
        // acquire in isMade.
        isCommitted.store(false, ordering: .releasing)
    }

    /// Makes all prepared changes visible at once.
    borrowing func make() {
        // Release: all properties are prepared before this store; pairs with the acquire in isMade.
        isCommitted.store(true, ordering: .releasing)
    }

    /// Whether the thread's present commit has made its changes. A reader comes here from a
    /// prepared latch. Afterwards the reader must check that the latch still has the same prepared
    /// word. If not, the answer may belong to a later commit, and the reader must ignore it.
    var isMade: Bool {
        // Acquire: pairs with the releases in make() and reset(). A reader that sees a commit made
        // also sees all of its properties prepared. A reader that sees the decision of the next
        // commit also sees them settled.
        isCommitted.load(ordering: .acquiring)
    }
}
