// SPDX-License-Identifier: Apache-2.0

public import CURCU

/// The few instructions in which a published pointer may be loaded and pinned: liburcu's read-side
/// critical section.
///
/// Between `enter` and `leave` run a few instructions of this library, never user code. So a grace
/// period never waits for a callback. (P5)
@usableFromInline
internal enum ReadSection {
    @inlinable @inline(__always)
    static func enter() {
        if !_fastPath(curcu_has_reader()) { unsafe ThreadRecord.attach() }
        curcu_read_lock()
    }

    @inlinable @inline(__always)
    static func leave() {
        curcu_read_unlock()
    }
}

extension ReadSection {
    /// Gives the calling thread liburcu's reader of its record, or registers it with liburcu, while
    /// no fork happens. (P18)
    static func attach(_ record: UnsafeMutablePointer<ThreadRecord>) {
        // Safe: records are never freed.
        let isOutermost = unsafe ForkGate.enter(record)
        unsafe record.pointee.reader = curcu_attach_reader(record.pointee.reader)
        if isOutermost { unsafe ForkGate.leave(record) }
    }

    /// Keeps the exiting thread's reader for the next thread that has the record.
    static func detach(_ record: UnsafeMutablePointer<ThreadRecord>) {
        // Safe: records are never freed, and readers not while a record has them.
        unsafe curcu_detach_reader(record.pointee.reader)
    }
}

/// Waits until every read section that was open at the call has been left; a full barrier on every
/// thread.
///
/// Afterwards every pin that was stored inside those sections is visible to a scan.
internal func waitForGracePeriod() {
    // First this library's own, which repeats a call of membarrier that fails, or says why it
    // cannot: liburcu aborts.
    AsymmetricBarrier.heavy()
    curcu_synchronize()
}
