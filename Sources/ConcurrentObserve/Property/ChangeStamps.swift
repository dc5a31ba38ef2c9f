// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Records when each property last changed, so that an evaluation on copies can admit a root that
/// has not changed since they were taken. (P25)
///
/// A stamp is the last moment before a change. Properties share the stamps, by a hash of their
/// locks' addresses, so a property may seem to have changed that has not. While no function runs on
/// copies, a change loads one word, and stamps nothing.
internal enum ChangeStamps {
    /// How many functions run on copies.
    private static let users = Atomic<Int>(0)
    private static let lastMoment = Atomic<UInt64>(0)
    /// The address of the stamps, or 0 before they are needed.
    private static let stamps = Atomic<UInt>(0)
    private static var count: Int { 2_048 }

    private typealias Stamp = Atomic<UInt64>

    private static func stamp(of lock: UInt, in address: UInt) -> UnsafePointer<Stamp> {
        let hash = Int(truncatingIfNeeded: (lock &* 0x9E37_79B9_7F4A_7C15) >> 40) & (count - 1)
        // Safe: the stamps are never freed; below their count.
        return unsafe UnsafePointer<Stamp>(bitPattern: address).unsafelyUnwrapped + hash
    }
}

// MARK: - Changing

extension ChangeStamps {
    /// Stamps a change, if there was one and a function runs on copies. Under the mutation lock,
    /// after the change was published.
    @inline(__always)
    static func note(_ lock: UInt) {
        // Either this thread sees that a function runs on copies, or the change was published
        // before the moment. Pairs with heavy() in advance().
        AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)
        // Relaxed: after the change, by the barrier.
        if users.load(ordering: .relaxed) > 0 { noteMoment(lock) }
    }

    @inline(never)
    private static func noteMoment(_ lock: UInt) {
        // Acquire: pairs with the exchange in makeStamps().
        let address = stamps.load(ordering: .acquiring)
        // If there are no stamps, no moment was before the change.
        if address == 0 { return }
        // Relaxed, both: the moment is stored before the heavy barrier, and the lock orders the stamp.
        unsafe stamp(of: lock, in: address).pointee.max(lastMoment.load(ordering: .relaxed), ordering: .relaxed)
    }
}

// MARK: - Looking

extension ChangeStamps {
    /// Begins the stamping of changes. It goes on until each call is matched by one of `end()`.
    static func begin() {
        makeStamps()
        // Relaxed: advance() orders it.
        users.add(1, ordering: .relaxed)
    }

    // Relaxed: a change that is stamped for nothing is no harm.
    static func end() { users.subtract(1, ordering: .relaxed) }

    /// Begins a new moment. Each change that is published after the call is stamped with this
    /// moment, or with a later one. Call it between `begin()` and `end()`.
    static func advance() -> UInt64 {
        // Relaxed: before the barrier, which pairs with light(fenced:) in note(_:).
        let moment = lastMoment.add(1, ordering: .relaxed).newValue
        AsymmetricBarrier.heavy()
        return moment
    }

    /// Whether the property with this lock has been unchanged since `moment`. Under that lock, or
    /// while publication is held off.
    static func isUnchanged(_ lock: UInt, since moment: UInt64) -> Bool {
        // Relaxed, both: the lock orders the stamp; the caller has called begin().
        return unsafe stamp(of: lock, in: stamps.load(ordering: .relaxed)).pointee.load(ordering: .relaxed) < moment
    }

    private static func makeStamps() {
        // Acquire: pairs with the exchange below.
        if stamps.load(ordering: .acquiring) != 0 { return }
        // Safe: freed below, or never.
        let new = UnsafeMutablePointer<UInt64>.allocate(capacity: count)
        unsafe new.initialize(repeating: 0, count: count)
        // Acquire and release: the first thread's stamps are complete; pairs with the acquires
        // above and in noteMoment(_:).
        let (isFirst, _) = stamps.compareExchange(
            expected: 0,
            desired: UInt(bitPattern: new),
            ordering: .acquiringAndReleasing
        )
        if !isFirst { unsafe new.deallocate() }
    }
}
