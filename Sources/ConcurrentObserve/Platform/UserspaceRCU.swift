// SPDX-License-Identifier: Apache-2.0

#if LibURCU && os(Linux)
public import CURCU
#else
public import CPlatform
#endif

/// Read-side critical sections, and a function that waits for the open ones. They come from the
/// "bulletproof" flavour of liburcu (Userspace RCU). The library uses them through `ReadSection`.
///
/// Without the package's trait `LibURCU`, and on systems other than Linux, nothing of liburcu is
/// compiled or linked. Then hazard pointers protect tables, too: see
/// `HazardPointer.protectTable(_:)`. Only this file depends on the trait.
@usableFromInline
package enum UserspaceRCU {
    #if LibURCU && os(Linux)
    /// Whether read sections protect tables. A constant.
    @inlinable @inline(__always)
    package static var isUsed: Bool { true }

    /// Whether membarrier reaches every thread. When it does not, readers execute fences.
    @inlinable @inline(__always)
    package static var hasMembarrier: Bool { curcu_has_membarrier() }

    /// Whether the calling thread has a reader, liburcu's record of a thread that reads.
    @inlinable @inline(__always)
    package static var hasReader: Bool { curcu_has_reader() }

    /// Enters a read section. Makes a reader for the calling thread if it has none.
    @inlinable @inline(__always)
    package static func enter() { curcu_read_lock() }

    /// Leaves a read section.
    @inlinable @inline(__always)
    package static func leave() { curcu_read_unlock() }

    /// Waits until every read section that was open at the call has been left. It is a full barrier
    /// on every thread.
    package static func synchronize() { curcu_synchronize() }
    #else
    @inlinable @inline(__always)
    package static var isUsed: Bool { false }

    @inlinable @inline(__always)
    package static var hasMembarrier: Bool { cplatform_has_membarrier() }

    @inlinable @inline(__always)
    package static var hasReader: Bool { true }

    @inlinable @inline(__always)
    package static func enter() {}

    @inlinable @inline(__always)
    package static func leave() {}

    package static func synchronize() {}
    #endif
}
