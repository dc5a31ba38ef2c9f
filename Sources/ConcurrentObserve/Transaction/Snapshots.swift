// SPDX-License-Identifier: Apache-2.0

/// Snapshots of several properties, taken without a lock while they come through, and with publication held off otherwise. (P20)
@usableFromInline
internal enum Snapshots {
    /// Looks in vain before publication is held off: each means that a change was published meanwhile.
    @inlinable static var mostLooks: Int { 16 }

    /// Whether no version has changed since its value was read. Each only grows, so that equal sums are of equal versions.
    @inlinable @inline(__always)
    static func isSame(_ before: UInt64, _ after: UInt64) -> Bool {
        return before == after
    }

    /// Returns what `look` finds.
    ///
    /// - Parameter look: Returns nil if a property has changed meanwhile.
    @inlinable @inline(__always)
    static func take<Value>(_ members: GroupMembers, _ look: () -> Value?) -> Value {
        for _ in 0..<mostLooks { if let found = look() { return found } }
        return takeHeld(members, look)
    }

    /// Holds off the publication of each member while it looks: waits for publications, never for the body of a `modify` or a commit.
    ///
    /// Where that is in vain it goes on as before: lock-free.
    @usableFromInline @inline(never)
    static func takeHeld<Value>(_ members: GroupMembers, _ look: () -> Value?) -> Value {
        while true { if let found = takeUnlessForsaken(members, look) ?? look() { return found } }
    }

    /// Holds off the publication of each member while it looks, which finds something then. Nil only in the child of a fork: a thread that
    /// was changing a member, and does not exist there, may have its lock for ever. (P18)
    ///
    /// It holds all or none, and waits with none: nothing waits for it in a ring, and a fork does not find it inside.
    static func takeUnlessForsaken<Value>(_ members: GroupMembers, _ look: () -> Value?) -> Value? {
        // Safe: the caller keeps the group.
        let list = unsafe members.list
        var (wait, pauses) = (Backoff(), 0)
        while Fork.generation == 0 || pauses < mostPausesInChild {
            pauses &+= 1
            // Where not all can be named it goes on as before: lock-free.
            let found =
                unsafe list.pointee.isComplete
                ? ForkGate.pass { unsafe hold(list.pointee.members, look) } : look()
            if let found { return found }
            wait.pause()
        }
        return nil
    }

    /// Some fifty milliseconds: a thread that exists has released its locks by then, or is waited for again.
    private static var mostPausesInChild: Int { 100 }

    /// Nil if a member could not be held, or `look` returns nil.
    private static func hold<Value>(_ members: UnsafeBufferPointer<Member>, _ look: () -> Value?) -> Value? {
        var holds: [MutationLock.Hold] = []
        holds.reserveCapacity(members.count)
        // Safe, both: takeHeld(_:_:)'s caller keeps the group.
        defer { for index in holds.indices { unsafe members[index].release(holds[index]) } }
        for index in members.indices {
            guard let hold = unsafe members[index].tryHold() else { return nil }
            holds.append(hold)
        }
        return look()
    }
}
