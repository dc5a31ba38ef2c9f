// SPDX-License-Identifier: Apache-2.0

public import ConcurrentObservePlatform
public import Synchronization

/// A section of a few instructions in which a thread may load a published pointer and pin it:
/// liburcu's read-side critical section. Where liburcu is not used, `protectTable(_:)` enters no
/// read section.
///
/// Between `enter` and `leave` only a few instructions of this library run, never user code. A
/// grace period therefore never waits for a callback. (P5)
@usableFromInline
internal enum ReadSection {
    @inlinable @inline(__always)
    static func enter() {
        if !_fastPath(UserspaceRCU.hasReader) { attach() }
        UserspaceRCU.enter()
    }

    @inlinable @inline(__always)
    static func leave() {
        UserspaceRCU.leave()
    }
}

extension HazardPointer {
    /// Protects the table whose address `load` returns. Returns the address, or 0 if there is no
    /// table.
    ///
    /// With liburcu it stores the address in a read section. Without liburcu it protects the table
    /// like any other object: see `protectLoaded(_:)`.
    @inlinable @inline(__always)
    borrowing func protectTable(_ load: () -> UInt) -> UInt {
        UserspaceRCU.isUsed ? protectInReadSection(load) : protectLoaded(load)
    }

    /// Protects the table whose address `load` returns. Returns the address, or 0 if there is no
    /// table. Repeats until the address is the same after the light barrier. It is lock-free,
    /// because it repeats only if another table was published.
    @inlinable @inline(__always)
    borrowing func protectLoaded(_ load: () -> UInt) -> UInt {
        while true {
            let table = load()
            // The second load acquires, like the first: a new table may have been allocated at the
            // same address.
            if table == 0 || protect(table, ifStill: { load() == table }) != nil { return table }
        }
    }

    @inlinable @inline(__always)
    borrowing func protectInReadSection(_ load: () -> UInt) -> UInt {
        ReadSection.enter()
        let table = load()
        // Relaxed: the thread that frees the table waits for this section, which makes the pin
        // visible.
        address.store(table, ordering: .relaxed)
        ReadSection.leave()
        return table
    }
}

extension ReadSection {
    /// Gives the calling thread a record. liburcu makes its own record, the thread's reader, when
    /// the thread enters.
    @usableFromInline @inline(never)
    static func attach() {
        // liburcu takes a lock to make the reader. Another thread may have held that lock at the
        // fork.
        Fork.trapInChild()
        _ = unsafe ThreadRecord.current
    }
}

/// Waits until every read section that was open at the call has been left. It is a full barrier on
/// every thread. Without liburcu it does nothing.
///
/// Afterwards every pin that was stored inside those sections is visible to a scan. Without
/// liburcu, the heavy barrier that a reclamation pass executes before each scan makes the pins
/// visible.
internal func waitForGracePeriod() {
    guard UserspaceRCU.isUsed else { return }
    // The library's own barrier comes first: it repeats a membarrier call that fails, or traps with
    // the reason. liburcu would abort.
    AsymmetricBarrier.heavy()
    UserspaceRCU.synchronize()
}
