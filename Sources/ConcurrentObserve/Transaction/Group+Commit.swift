// SPDX-License-Identifier: Apache-2.0

extension Group {
    /// Changes several members as one: no thread sees some of the changes and not the others. (P19)
    ///
    /// ```swift
    /// let accounts = Group(from.balance, to.balance)
    /// accounts.commit { transaction in
    ///     transaction[from.balance] -= 10
    ///     transaction[to.balance] += 10
    /// }
    /// ```
    ///
    /// `body` runs once, on drafts, under the locks of all members. It should be short: other
    /// writers of a member wait for it. Readers, snapshots and registrations do not wait, and see
    /// the earlier values. Inside `body`, you may read properties, end observations, and observe
    /// properties that are not members. Changing a property other than through the transaction
    /// traps. If `body` throws, nothing changes, and no observer is called.
    ///
    /// Each member that the body has set changes once, however often it was set. The others do not
    /// change. The observers are called on this thread before `commit` returns, under no lock,
    /// member by member, in no defined order. An observer of a group receives a commit once, as one
    /// change. (P21) No prior delivery is made. Commits wait for each other only if they share
    /// members, and never in a ring.
    ///
    /// - Parameter body: Receives the drafts. Counts as inside a callback.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    /// - Precondition: The members are `Observed` and `WeakObserved` properties, ``ReadOnly``
    ///   views, paths, groups and lists of these, and ``ObservableProperty/removingDuplicates()``
    ///   of any of them. Derived values and types of yours trap.
    /// - Complexity: O(*n*) in the members, and the calls of the observers.
    @inlinable
    @discardableResult
    public func commit<Result, Failure: Error>(
        _ body: (borrowing Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try Commit.perform(members, body)
    }
}

extension PropertyList {
    /// Changes several properties of the list as one: see ``Group/commit(_:)``. (P19)
    ///
    /// - Parameter body: Receives the drafts. Counts as inside a callback.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    /// - Complexity: O(*n*) in the properties, and the calls of the observers.
    @inlinable
    @discardableResult
    public func commit<Result, Failure: Error>(
        _ body: (borrowing Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try Commit.perform(members, body)
    }
}
