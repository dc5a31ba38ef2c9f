// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// Says which table or value, and which observer, one pass on one thread is using. Here a *pass* is
/// a walk over the observers of a source, a call of one observer, or a read that lends a value. (A
/// *reclamation pass* is something else: it scans the frames.)
///
/// A nested pass has its own frame. The frames of the outer passes stay valid.
@usableFromInline
internal struct Frame: ~Copyable {
    /// Protects the table that the pass walks, or the value that it lends.
    @usableFromInline let pin = HazardPointer()

    /// Protects the closure of the observer that the pass may be calling.
    @usableFromInline let current = HazardPointer()

    /// The number of passes that have used this frame. It distinguishes one long callback from many
    /// short ones. An overflow is harmless.
    @usableFromInline let passes = Atomic<UInt>(0)

    /// Extends the frame to 32 bytes. A cache line then holds two frames, and a shift of a frame's
    /// index gives its distance from the first frame.
    private let padding: UInt = 0

    init() {}

    /// Counts the pass that begins. Only passes that call observers are counted.
    @inlinable @inline(__always)
    borrowing func countPass() {
        // Relaxed: a statistic with one writer.
        passes.store(passes.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    /// Ends the protection of the last observer, and then the protection of the pinned table or
    /// value.
    @inlinable @inline(__always)
    borrowing func clear() {
        current.clear()
        pin.clear()
    }
}

/// Further frames for a thread whose passes nest deeper than the number of frames in its record. A
/// block is never freed.
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
