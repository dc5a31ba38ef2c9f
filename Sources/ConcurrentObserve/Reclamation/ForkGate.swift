// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Keeps threads out of the sources' locks while the process forks. (P18)
///
/// A thread that passes pays for a store and a load of its own; the forking thread pays for the
/// barrier, once for all. As with `current` and the mark, at least one of the two sees the other's
/// store: the passing thread sees that the gate is closed, or the forking thread sees that a thread
/// is inside. Either then sleeps: the other thread may have a lower priority and the same
/// processor.
internal enum ForkGate {
    private static let isClosed = Atomic<Bool>(false)
    private static let opening = EventCount()
    private static let departure = EventCount()

    /// Makes what the gate needs. See `Fork.prepare()`.
    static func prepare() { _ = (isClosed.load(ordering: .relaxed), opening, departure) }

    /// Runs `body` while no fork happens; waits while one does. A thread that is inside already
    /// stays inside until its outermost body returns.
    @inline(__always)
    static func pass<Result: ~Copyable>(_ body: () -> Result) -> Result {
        let isOutermost = enter()
        defer { if isOutermost { leave() } }
        return body()
    }

    /// Goes inside, unless the thread is there already.
    ///
    /// - Returns: Whether the thread was outside: then it calls `leave()`.
    static func enter() -> Bool { unsafe enter(ThreadRecord.current) }

    static func leave() { unsafe leave(ThreadRecord.current) }

    /// - Parameter record: The calling thread's.
    @inline(__always)
    static func enter(_ record: UnsafeMutablePointer<ThreadRecord>) -> Bool {
        // Safe: records are never freed. Relaxed: the thread's own store.
        if unsafe record.pointee.isInsideGate.load(ordering: .relaxed) { return false }
        if unsafe !tryEnter(record) { unsafe enterAfterFork(record) }
        return true
    }

    @inline(__always)
    private static func tryEnter(_ record: UnsafeMutablePointer<ThreadRecord>) -> Bool {
        // Relaxed: ordered before the load by the barrier; pairs with heavy() in close().
        unsafe record.pointee.isInsideGate.store(true, ordering: .relaxed)
        AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)
        // Acquire: pairs with the release in open().
        return !isClosed.load(ordering: .acquiring)
    }

    @inline(never)
    private static func enterAfterFork(_ record: UnsafeMutablePointer<ThreadRecord>) {
        repeat {
            unsafe leave(record)
            // Relaxed: the load in tryEnter(_:) follows, which decides.
            opening.wait(for: "gate opens") { !isClosed.load(ordering: .relaxed) }
        } while unsafe !tryEnter(record)
    }

    /// - Parameter record: The calling thread's.
    @inline(__always)
    static func leave(_ record: UnsafeMutablePointer<ThreadRecord>) {
        // Safe: records are never freed. Release: pairs with the acquire in close().
        unsafe record.pointee.isInsideGate.store(false, ordering: .releasing)
        AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)
        // Relaxed: if the load comes before the barrier in close(), the store is seen there, and
        // the forker does not sleep.
        if isClosed.load(ordering: .relaxed) { wakeForker() }
    }

    @inline(never)
    private static func wakeForker() {
        departure.signal()
    }

    /// Closes the gate and waits until no thread is inside. No user code is, so the wait is short.
    /// One thread at a time.
    ///
    /// - Parameter isRehearsal: No other thread uses the library: there is none to see the other's
    ///   store.
    static func close(isRehearsal: Bool) {
        // Relaxed: ordered before the loads by the barrier; pairs with light(fenced:) in enter(_:)
        // and leave(_:).
        isClosed.store(true, ordering: .relaxed)
        if !isRehearsal { AsymmetricBarrier.heavy() }
        unsafe ThreadRecords.shared.forEach { record in
            // Acquire: pairs with the release in leave(_:); what was done inside is whole.
            departure.wait(for: "gate is left") { unsafe !record.pointee.isInsideGate.load(ordering: .acquiring) }
        }
    }

    /// In the parent and in the child.
    static func open() {
        // Release: pairs with the acquire in enter(_:).
        isClosed.store(false, ordering: .releasing)
        opening.signal()
    }
}
