// SPDX-License-Identifier: Apache-2.0

public import CURCU

/// Userspace RCU, by liburcu's "bulletproof" flavour: read-side critical sections, and the wait for
/// those that are open. `ReadSection` is the form that the library uses.
@usableFromInline
internal enum UserspaceRCU {
    /// Whether the calling thread has a reader, liburcu's record of a thread that reads.
    @inlinable @inline(__always)
    static var hasReader: Bool { curcu_has_reader() }

    /// Enters a read section. Makes a reader for the calling thread if it has none.
    @inlinable @inline(__always)
    static func enter() { curcu_read_lock() }

    /// Leaves a read section.
    @inlinable @inline(__always)
    static func leave() { curcu_read_unlock() }

    /// Waits until every read section that was open at the call has been left. It is a full barrier
    /// on every thread.
    static func synchronize() { curcu_synchronize() }
}
