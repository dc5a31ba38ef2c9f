// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

/// Takes snapshots of several properties. It first reads without a lock. After `mostLooks` failed
/// attempts, it holds off the publication of changes while it reads. (P20)
@usableFromInline
internal enum Snapshots {
    /// The number of failed attempts before publication is held off. An attempt fails because a
    /// change was published in between.
    @inlinable static var mostLooks: Int { 16 }

    /// Whether no version has changed since its value was read. `before` is the sum of the versions
    /// that were read with the values, and `after` is the sum of the versions afterwards. Each
    /// version only grows, so equal sums mean equal versions.
    @inlinable @inline(__always)
    static func isSame(_ before: UInt64, _ after: UInt64) -> Bool {
        return before == after
    }

    /// Calls `look` until it returns a value, and returns that value. After `mostLooks` calls,
    /// holds off the publication of changes of `members`.
    ///
    /// - Parameter look: Reads the values. Returns nil if a property changed in between.
    @inlinable @inline(__always)
    static func take<Value>(_ members: GroupMembers, _ look: () -> Value?) -> Value {
        for _ in 0..<mostLooks { if let found = look() { return found } }
        return takeHeld(members, look)
    }

    /// Holds off the publication of changes of each member while it calls `look`, so that no change
    /// comes in between. It waits for threads that are publishing, and never for the body of a
    /// `modify` or a commit.
    ///
    /// It holds all members or none, and waits only while it holds none. Threads therefore never
    /// wait for each other in a cycle.
    @usableFromInline @inline(never)
    static func takeHeld<Value>(_ members: GroupMembers, _ look: () -> Value?) -> Value {
        // Safe: the caller keeps the group.
        let list = unsafe members.list
        var wait = Backoff()
        while true {
            // If the list does not have all members, no publication is held off: `look` reads
            // without a lock.
            let found = unsafe list.pointee.isComplete ? hold(list.pointee.members, look) : look()
            if let found { return found }
            wait.pause()
        }
    }

    /// Calls `look` while the publication of changes is held off, and returns its result. Returns
    /// nil if a lock of a member is not free, or if `look` returns nil.
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
