// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// A section of a few instructions in which a thread may load a published pointer and pin it:
/// liburcu's read-side critical section.
///
/// Between `enter` and `leave` only a few instructions of this library run, never user code. So a
/// grace period never waits for a callback. (P5)
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
    @inlinable @inline(__always)
    borrowing func protectTable(_ load: () -> UInt) -> UInt {
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
    /// Gives the calling thread a record. liburcu makes its own, the thread's reader, when the
    /// thread enters.
    @usableFromInline @inline(never)
    static func attach() {
        // liburcu takes a lock for it, which another thread may have held at the fork.
        Fork.trapInChild()
        _ = unsafe ThreadRecord.current
    }
}

/// Waits until every read section that was open at the call has been left. It is a full barrier on
/// every thread.
///
/// Afterwards every pin that was stored inside those sections is visible to a scan.
internal func waitForGracePeriod() {
    // The library's own barrier comes first: it repeats a membarrier call that fails, or traps with
    // the reason. liburcu would abort.
    AsymmetricBarrier.heavy()
    UserspaceRCU.synchronize()
}
