// SPDX-License-Identifier: Apache-2.0

public import CURCU

/// A section of a few instructions in which a thread may load a published pointer and pin it:
/// liburcu's read-side critical section.
///
/// Between `enter` and `leave` only a few instructions of this library run, never user code. So a
/// grace period never waits for a callback. (P5)
@usableFromInline
internal enum ReadSection {
    @inlinable @inline(__always)
    static func enter() {
        if !_fastPath(curcu_has_reader()) { attach() }
        curcu_read_lock()
    }

    @inlinable @inline(__always)
    static func leave() {
        curcu_read_unlock()
    }
}

extension ReadSection {
    /// Gives the calling thread a record, and a reader with it.
    @usableFromInline @inline(never)
    static func attach() {
        Fork.trapInChild()
        unsafe ThreadRecord.attach()
    }

    /// Gives the calling thread the liburcu reader of its record, or registers the thread with
    /// liburcu.
    static func attach(_ record: UnsafeMutablePointer<ThreadRecord>) {
        // Safe: records are never freed.
        unsafe record.pointee.reader = curcu_attach_reader(record.pointee.reader)
    }

    /// Keeps the exiting thread's reader for the next thread that takes the record over.
    static func detach(_ record: UnsafeMutablePointer<ThreadRecord>) {
        // Safe: records are never freed, and a reader is not freed while a record has it.
        unsafe curcu_detach_reader(record.pointee.reader)
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
    curcu_synchronize()
}
