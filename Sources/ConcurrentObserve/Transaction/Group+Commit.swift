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
    /// members, and never wait in a cycle.
    ///
    /// - Parameter body: Receives the drafts. The code of `body` counts as inside a callback.
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
    /// - Parameter body: Receives the drafts. The code of `body` counts as inside a callback.
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

// MARK: - Reading others

extension Group {
    /// Changes several members as one. The properties of `held`, which the body only reads, do not
    /// change until the commit is published. (P19)
    ///
    /// ```swift
    /// let accounts = Group(from.balance, to.balance)
    /// accounts.commit(reading: limits.perTransfer) { transaction in
    ///     let amount = min(50, transaction[limits.perTransfer])
    ///     transaction[from.balance] -= amount
    ///     transaction[to.balance] += amount
    /// }
    /// ```
    ///
    /// No other thread changes a property of `held` from before the body runs until the commit is
    /// published. A decision that the body makes from these properties therefore still holds when
    /// its changes are published. Without `reading:` two commits can each read a property that the
    /// other one changes (*write skew*). Reading such a property in the body without the
    /// transaction gives the same value. Setting it traps, unless it is also a member.
    ///
    /// Other writers of `held` wait for the body, too. Everything else is as for ``commit(_:)``.
    ///
    /// - Parameters:
    ///   - held: The property that the body only reads, or a ``Group`` or a ``PropertyList`` of
    ///     several such properties.
    ///   - body: Receives the drafts. The code of `body` counts as inside a callback.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    /// - Precondition: `held` has only properties that can be members of a group that commits.
    /// - Complexity: O(*n* log *n*) in the members and the properties of `held`, and the calls of
    ///   the observers.
    @inlinable
    @discardableResult
    public func commit<Held: ObservableProperty, Result, Failure: Error>(
        reading held: Held,
        _ body: (borrowing Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try Commit.perform(GroupMembers(of: members, reading: held), body)
    }
}

extension PropertyList {
    /// Changes several properties of the list as one. The properties of `held`, which the body only
    /// reads, do not change until the commit is published: see ``Group/commit(reading:_:)``. (P19)
    ///
    /// - Parameters:
    ///   - held: The property that the body only reads, or a ``Group`` or a ``PropertyList`` of
    ///     several such properties.
    ///   - body: Receives the drafts. The code of `body` counts as inside a callback.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    /// - Complexity: O(*n* log *n*) in the properties of the list and of `held`, and the calls of
    ///   the observers.
    @inlinable
    @discardableResult
    public func commit<Held: ObservableProperty, Result, Failure: Error>(
        reading held: Held,
        _ body: (borrowing Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try Commit.perform(GroupMembers(of: members, reading: held), body)
    }
}

extension GroupMembers {
    /// Makes the members of a group together with the properties of `held`, which a commit only
    /// reads.
    @usableFromInline
    convenience init(of group: GroupMembers, reading held: some ObservableProperty) {
        self.init { found in
            group.add(to: &found)
            found.addHeldStill { $0.add(of: held) }
        }
    }
}
