// SPDX-License-Identifier: Apache-2.0

extension CommitDecision {
    /// Resets the decision before what it has changed is settled.
    borrowing func makeForAMoment() {
        isCommitted.store(true, ordering: .releasing)
        inject("commit.decided")
        isCommitted.store(false, ordering: .releasing)
    }
}
