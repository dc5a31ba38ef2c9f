// SPDX-License-Identifier: Apache-2.0

import CURCU
import Synchronization

// What a thread does with its own frames.
extension UnsafeMutablePointer<ThreadRecord> {
    /// The frame of the pass that starts now, one level deeper than the last.
    @inlinable @inline(__always)
    func enterFrame() -> UnsafeMutablePointer<Frame> {
        // Safe: records are never freed. Relaxed: the owner alone writes it. The store comes before
        // what the frame will hold: before `current` by its release, and as `pin` before the
        // end of a read section. So a scan whose barrier makes those visible looks at the frame.
        // Release: as in leaveFrame(); a scan may read this store in its place.
        let depth = unsafe pointee.depth.load(ordering: .relaxed)
        unsafe pointee.depth.store(depth &+ 1, ordering: .releasing)
        if _fastPath(depth < ThreadRecord.inlineFrames) {
            return unsafe inlineFrames + depth
        }
        return unsafe deepFrame(depth - ThreadRecord.inlineFrames)
    }

    /// Ends the innermost frame.
    @inlinable @inline(__always)
    func leaveFrame() {
        // Safe: records are never freed. Relaxed: the owner alone writes it. Release: pairs with
        // the acquire in forEachFrame(_:); a scan that does not look at the frame any more comes
        // after what its callbacks did.
        unsafe pointee.depth.store(pointee.depth.load(ordering: .relaxed) &- 1, ordering: .releasing)
    }

    /// The first of the frames inside the record.
    @inlinable @inline(__always)
    var inlineFrames: UnsafeMutablePointer<Frame> {
        // Safe: `ThreadRecord.allocate` has laid the frames out at this distance.
        unsafe (UnsafeMutableRawPointer(self) + ThreadRecord.framesOffset).assumingMemoryBound(to: Frame.self)
    }

    /// A frame beyond the record's own. Allocates room on the thread's first visit to such a depth.
    ///
    /// Traps while there is still stack to say so: a callback that calls itself without end gets
    /// here. (P6)
    @usableFromInline @inline(never)
    func deepFrame(_ index: Int) -> UnsafeMutablePointer<Frame> {
        if curcu_stack_is_nearly_used_up() {
            trapEndlessRecursion(depth: index + ThreadRecord.inlineFrames + 1)
        }
        // Safe: blocks of frames are linked once and never freed; only the owner appends.
        var index = index
        var capacity = FrameBlock.leastCapacity
        var link = unsafe UnsafePointer(addressOf: pointee.deeperFrames)
        while true {
            // Relaxed: the owner reads what it has stored itself.
            var block = unsafe FrameBlock.at(link.pointee.load(ordering: .relaxed))
            if unsafe block == nil {
                unsafe block = FrameBlock.allocate(capacity)
                // Release: pairs with the acquire in forEachFrame(below:_:), which reads the
                // block's frames.
                unsafe link.pointee.store(UInt(bitPattern: block), ordering: .releasing)
            }
            if index < capacity { return unsafe block!.pointee.frames + index }
            index -= capacity
            // Twice as many each time: however deep a thread nests, the way to its frame is short.
            capacity *= 2
            unsafe link = UnsafePointer(addressOf: block!.pointee.next)
        }
    }
}

// What other threads do with them.
extension UnsafeMutablePointer<ThreadRecord> {
    /// Visits every frame of the record that is in use. Any thread; call it after the barrier that
    /// makes the frames' contents visible.
    ///
    /// - Complexity: O(the passes that are nested on the thread now), however many there have been.
    func forEachFrame(_ body: (UnsafeMutablePointer<Frame>) -> Void) {
        // Acquire: pairs with the release in leaveFrame(). A frame that was in use at the barrier
        // and is not among these has been left since: what was done in it happens before the
        // reclaiming.
        let depth = unsafe pointee.depth.load(ordering: .acquiring)
        unsafe forEachFrame(below: depth, body)
    }

    /// Visits the frames of the levels below `depth`, as far as there are any.
    func forEachFrame(below depth: Int, _ body: (UnsafeMutablePointer<Frame>) -> Void) {
        // Safe: records and their blocks of frames are never freed.
        for index in 0..<min(depth, ThreadRecord.inlineFrames) { unsafe body(inlineFrames + index) }
        var rest = depth - ThreadRecord.inlineFrames
        var capacity = FrameBlock.leastCapacity
        var link = unsafe UnsafePointer(addressOf: pointee.deeperFrames)
        while rest > 0 {
            // Acquire: pairs with the release in deepFrame(_:).
            guard let block = unsafe FrameBlock.at(link.pointee.load(ordering: .acquiring)) else { return }
            for index in 0..<min(rest, capacity) { unsafe body(block.pointee.frames + index) }
            rest -= capacity
            capacity *= 2
            unsafe link = UnsafePointer(addressOf: block.pointee.next)
        }
    }

    /// In the child of a fork: forgets what the record's last thread was doing. That thread does
    /// not exist here.
    func clear() {
        // All of them: a fork need not have caught the depth and the frames at one moment.
        unsafe forEachFrame(below: .max) { frame in
            unsafe frame.pointee.clear()
        }
        unsafe pointee.depth.store(0, ordering: .relaxed)  // Relaxed: the child has one thread.
        unsafe pointee.userCode = 0
        unsafe pointee.context = nil
        unsafe pointee.evaluation = nil
        unsafe pointee.carriedCommit = nil
    }
}

extension UnsafePointer where Pointee: ~Copyable {
    /// The address of a property that is stored in memory which does not move.
    fileprivate init(addressOf property: borrowing Pointee) {
        // Safe: the caller's property lies in memory that is never moved or freed; atomics are
        // never copied to be lent.
        unsafe self = withUnsafePointer(to: property) { unsafe $0 }
    }
}

/// Ends the process while there is stack enough to say why.
private func trapEndlessRecursion(depth: Int) -> Never {
    fatalError(
        """
        ConcurrentObserve: \(depth) callbacks are nested on a thread whose stack is nearly used up. A callback that sets the property \
        it observes, or notifies its own registry, calls itself: let it stop, by comparing before it sets, or have it delivered \
        later, by `.serial`, on a queue or on an actor. If the recursion has an end, run it on a thread with a larger stack.
        """
    )
}
