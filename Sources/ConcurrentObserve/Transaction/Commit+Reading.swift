// SPDX-License-Identifier: Apache-2.0

extension Group {
    /// Changes several members as one, and holds other properties still, which the body only reads. (P19)
    ///
    /// ```swift
    /// Group(from.balance, to.balance).commit(reading: limits.perTransfer) { transaction in
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
        try perform(GroupMembers(of: group, and: held)) { (transaction) throws(Failure) in
            transaction.holdStill(allBut: group)
            return try body(transaction)
        }
    }
}

extension GroupMembers {
    /// Those of two groups.
    @usableFromInline
    convenience init(of first: GroupMembers, and second: GroupMembers) {
        self.init { members in
            let isComplete = first.add(to: &members)
            return second.add(to: &members) && isComplete
        }
    }
}

extension Transaction {
    /// From now on the members of `group` alone may be set, which are some of the drafts'. Before the body.
    @usableFromInline
    internal func holdStill(allBut group: GroupMembers) {
        // Both are in the order of the locks, each once.
        // Safe, all: the caller keeps the group; within bounds; the body's thread alone uses the drafts.
        let own = unsafe group.whole
        var next = 0
        for index in unsafe drafts.indices {
            if unsafe next < own.count && drafts[index].lockAddress == own[next].lockAddress {
                next += 1
            } else {
                unsafe drafts[index].isHeldStill = true
            }
        }
    }
}
