// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// Says which table or value, and which observer, one pass on one thread is using. Written by its
/// thread, read by every scan.
///
/// A nested pass has its own frame. The frames of the outer passes stay valid.
@usableFromInline
internal struct Frame: ~Copyable {
    /// The address of the table that the pass walks, or of the value that it reads, or 0. While the
    /// address is stored here, the table or value stays allocated.
    @usableFromInline let pin: Atomic<UInt>

    /// The hazard pointer: the address of the observer that the pass may be calling, or 0. While
    /// the address is stored here, the observer's closure stays alive.
    @usableFromInline let current: Atomic<UInt>

    /// The number of passes that have used this frame. It distinguishes one long callback from many
    /// short ones. Wrapping around is harmless.
    @usableFromInline let passes: Atomic<UInt>

    /// Extends the frame to 32 bytes, so that a cache line holds two frames, and an index is a
    /// shift.
    private let padding: UInt = 0

    init() {
        pin = Atomic(0)
        current = Atomic(0)
        passes = Atomic(0)
    }
}

extension Frame {
    // Reason for the compiler barriers below: the optimiser moves the retain of an object that user
    // code returns down to the object's use. It moves it across atomic stores of any ordering,
    // because they touch no reference count, but not across these barriers. (The C11 orderings act
    // between threads. The barrier emits no instruction, and acts between the compiler and this
    // thread.)

    /// Ends the use of the pinned table or value.
    @inlinable @inline(__always)
    borrowing func unpin() {
        compilerBarrier()
        // Release: the reads happen before the reclaiming; pairs with the acquire in the scans.
        pin.store(0, ordering: .releasing)
    }

    /// Ends the last callback, then the use of the pinned table or value.
    @inlinable @inline(__always)
    borrowing func clear() {
        compilerBarrier()
        // Release: the effects of the callback happen before the closure is reclaimed; pairs with
        // the acquires in the scans.
        current.store(0, ordering: .releasing)
        unpin()
    }
}

/// Frames for a thread that nests deeper than the frames of its record allow. Never freed.
@safe internal struct FrameBlock: ~Copyable {
    /// The address of the next block, or 0.
    let next = Atomic<UInt>(0)
    let frames: UnsafeMutablePointer<Frame>

    /// The capacity of the first block. Each further block has twice as many frames.
    static var leastCapacity: Int { 64 }

    static func allocate(_ capacity: Int) -> UnsafeMutablePointer<FrameBlock> {
        let frames = UnsafeMutablePointer<Frame>.allocate(capacity: capacity)
        for index in 0..<capacity { unsafe (frames + index).initialize(to: Frame()) }
        let block = UnsafeMutablePointer<FrameBlock>.allocate(capacity: 1)
        unsafe block.initialize(to: FrameBlock(frames: frames))
        return unsafe block
    }

    static func at(_ address: UInt) -> UnsafeMutablePointer<FrameBlock>? {
        unsafe UnsafeMutablePointer(bitPattern: address)
    }
}
