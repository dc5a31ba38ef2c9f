// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Keeps threads out of the sources' locks while the process forks. (P18)
///
/// Those who pass pay a store and a load of their own; the forking thread pays the barrier for all. As with `current` and
/// the mark, at least one of the two sees the other's store: the passer that the gate is closed, or the forker that somebody
/// is inside.
internal enum ForkGate {
    private static let isClosed = Atomic<Bool>(false)

    /// Runs `body` while no fork happens; waits while one does. Whoever is inside already stays so until the outermost body returns.
    @inline(__always)
    static func pass<Result: ~Copyable>(_ body: () -> Result) -> Result {
        let isOutermost = enter()
        defer { if isOutermost { leave() } }
        return body()
    }

    /// Goes inside, unless the thread is there already.
    ///
    /// - Returns: Whether it was outside: then it leaves, too.
    static func enter() -> Bool {
        // Safe: records are never freed.
        let record = unsafe ThreadRecord.current
        // Relaxed: the thread's own store.
        if unsafe record.pointee.isInsideGate.load(ordering: .relaxed) { return false }
        unsafe enter(record)
        return true
    }

    static func leave() {
        // Safe: records are never freed. Release: pairs with the acquire in close().
        unsafe ThreadRecord.current.pointee.isInsideGate.store(false, ordering: .releasing)
    }

    private static func enter(_ record: UnsafeMutablePointer<ThreadRecord>) {
        while true {
            // Relaxed: ordered before the load by the barrier; pairs with heavy() in close().
            unsafe record.pointee.isInsideGate.store(true, ordering: .relaxed)
            AsymmetricBarrier.light(fenced: !AsymmetricBarrier.usesMembarrier)
            // Acquire: pairs with the release in open().
            if !isClosed.load(ordering: .acquiring) { return }
            // Release: pairs with the acquire in close().
            unsafe record.pointee.isInsideGate.store(false, ordering: .releasing)
            while isClosed.load(ordering: .acquiring) { sched_yield() }
        }
    }

    /// Closes the gate and waits until nobody is inside. No user code is, so the wait is short.
    static func close() {
        // Acquire and release: one forking thread at a time.
        while !isClosed.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged {
            sched_yield()
        }
        AsymmetricBarrier.heavy()
        unsafe ThreadRecords.shared.forEach { record in
            // Acquire: pairs with the release in pass(_:); what was done inside is whole.
            while unsafe record.pointee.isInsideGate.load(ordering: .acquiring) { sched_yield() }
        }
    }

    /// In the parent and in the child.
    static func open() {
        // Release: pairs with the acquire in enter(_:).
        isClosed.store(false, ordering: .releasing)
    }
}
