// SPDX-License-Identifier: Apache-2.0

extension Group {
    /// Changes several members as one, and holds other properties still, which the body only reads. (P19)
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
    /// No other thread changes a property of `held` from before the body runs until the commit is published. So what the body decides by
    /// reading it still holds when its changes are published. Without `reading:` two commits can each read what the other one is
    /// changing (*write skew*). Reading it otherwise inside the body gives the same value. Setting it traps, unless it is also a member.
    ///
    /// In everything else it is as ``commit(_:)`` is; other writers of `held` wait for the body, too.
    ///
    /// - Parameters:
    ///   - held: The property, or a ``Group`` or ``PropertyList`` of several.
    ///   - body: Receives the drafts. Counts as inside a callback.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    /// - Precondition: `held` is of the properties that can be members of a group that commits.
    /// - Complexity: O(*n* log *n*) in the members and the properties of `held`, and the calls of the observers.
    @inlinable
    @discardableResult
    public func commit<Held: ObservableProperty, Result, Failure: Error>(
        reading held: Held,
        _ body: (borrowing Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try Commit.perform(members, reading: GroupMembers(of: [held]), body)
    }
}

extension PropertyList {
    /// Changes several properties of the list as one, and holds others still: see ``Group/commit(reading:_:)``. (P19)
    ///
    /// - Parameters:
    ///   - held: The property, or a ``Group`` or ``PropertyList`` of several.
    ///   - body: Receives the drafts. Counts as inside a callback.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    /// - Complexity: O(*n* log *n*) in the properties and those of `held`, and the calls of the observers.
    @inlinable
    @discardableResult
    public func commit<Held: ObservableProperty, Result, Failure: Error>(
        reading held: Held,
        _ body: (borrowing Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try Commit.perform(members, reading: GroupMembers(of: [held]), body)
    }
}

extension Commit {
    /// As ``perform(_:_:)``, with the locks of `held` beside those of the group.
    @inlinable
    static func perform<Result, Failure: Error>(
        _ group: GroupMembers,
        reading held: GroupMembers,
        _ body: (borrowing Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try perform(GroupMembers(of: group, reading: held), body)
    }
}

extension GroupMembers {
    /// Those of a group, and those of another one, which a commit only reads.
    @usableFromInline
    convenience init(of group: GroupMembers, reading held: GroupMembers) {
        self.init { found in
            group.add(to: &found)
            found.addHeldStill { held.add(to: &$0) }
        }
    }
}
