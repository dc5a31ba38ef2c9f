// SPDX-License-Identifier: Apache-2.0

import Synchronization

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
