// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Whether the changes that a thread's commit has prepared are made: one word, so that all of them are made at once. (P19)
///
/// It is part of the thread's record, which is never freed: a reader that comes late reads the decision of a later commit, and then
/// finds that the property is not prepared any more. A thread has one commit at a time.
internal struct CommitDecision: ~Copyable, Sendable {
    let isCommitted = Atomic<Bool>(false)

    init() {}

    /// Before the first property is prepared. All of the thread's earlier commits are settled.
    borrowing func reset() {
        // Release: what the earlier commit has settled comes before it; pairs with the acquire in isMade.
        isCommitted.store(false, ordering: .releasing)
    }

    /// Makes all changes that are prepared.
    borrowing func make() {
        // Release: all of them are prepared before it; pairs with the acquire in isMade.
        isCommitted.store(true, ordering: .releasing)
    }

    /// Whether the changes are made. Means nothing if the property that names the thread is settled by then.
    var isMade: Bool {
        // Acquire: pairs with the releases in make() and reset(). A reader that sees a commit made sees all of its properties prepared;
        // one that sees the decision of the next commit sees them settled.
        isCommitted.load(ordering: .acquiring)
    }
}
