// SPDX-License-Identifier: Apache-2.0

public import CURCU
public import Synchronization

/// What one pass over a table, on one thread, is using at the moment. Written by its thread, read
/// by every scan.
///
/// A nested pass has a frame of its own; outer frames keep counting.
@usableFromInline
internal struct Frame: ~Copyable {
    /// The address of the table that the pass walks, or of the value that it reads, or 0. It stays
    /// allocated while its address stands here.
    @usableFromInline let pin: Atomic<UInt>

    /// The hazard pointer: the address of the observer that the pass may be calling, or 0. The
    /// observer's closure stays alive while its address stands here.
    @usableFromInline let current: Atomic<UInt>

    /// How many passes have used this frame: distinguishes a long callback from many short ones.
    /// Wraps harmlessly.
    @usableFromInline let passes: Atomic<UInt>

    /// Fills the frame to 32 bytes, so that a cache line holds two and an index is a shift.
    private let padding: UInt = 0

    init() {
        pin = Atomic(0)
        current = Atomic(0)
        passes = Atomic(0)
    }
}

extension Frame {
    // The optimiser moves the retain of something that user code returns down to its use, across
    // atomic stores, however they are ordered: they touch no reference count. It does not move it
    // across the barriers below. (The C11 orderings are between threads; the barrier emits nothing
    // and is between the compiler and this thread.)

    /// Ends the use of what is pinned.
    @inlinable @inline(__always)
    borrowing func unpin() {
        curcu_compiler_barrier()
        // Release: what was read happens before it is reclaimed; pairs with the acquire in the scans.
        pin.store(0, ordering: .releasing)
    }

    /// Ends the last callback, then the use of what is pinned.
    @inlinable @inline(__always)
    borrowing func clear() {
        curcu_compiler_barrier()
        // Release: what the callback did happens before the closure is reclaimed; pairs with the
        // acquires in the scans.
        current.store(0, ordering: .releasing)
        unpin()
    }
}
