// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Says whether a thread's commit has made the changes that it prepared. It is one word, so all
/// changes become visible at once. (P19)
///
/// It is part of the thread's record, which is never freed. A thread has one commit at a time. A
/// slow reader may read the decision of a later commit. It then finds that the property is no
/// longer prepared, and reads again.
internal struct CommitDecision: ~Copyable, Sendable {
    let isCommitted = Atomic<Bool>(false)

    init() {}

    /// Resets the decision before the first property is prepared. By then all earlier commits of
    /// the thread have settled their properties.
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

    /// Whether the thread's present commit has made its changes. A reader reads this value after it
    /// has found a prepared word in a property's sequence latch. Afterwards the reader must check
    /// that the latch still has the same prepared word. If not, the answer may belong to a later
    /// commit, and the reader must ignore it.
    var isMade: Bool {
        // Acquire: pairs with the releases in make() and reset(). A reader that sees a commit made
        // also sees all of its properties prepared. A reader that sees the decision of the next
        // commit also sees them settled.
        isCommitted.load(ordering: .acquiring)
    }
}
