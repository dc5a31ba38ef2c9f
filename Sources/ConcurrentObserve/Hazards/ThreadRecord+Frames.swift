// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform
import Synchronization

// How a thread uses its own frames.
extension ThreadRecord {
    /// Calls `body` with a frame of the calling thread, which no other pass uses until `body`
    /// returns.
    @inlinable @inline(__always)
    static func withFrame<Result, Failure: Error>(
        _ body: (UnsafeMutablePointer<Frame>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // Safe: records and frames are never freed.
        let record = unsafe current
        let frame = unsafe record.enterFrame()
        defer {
            unsafe frame.pointee.clear()
            unsafe record.leaveFrame()
        }
        return try unsafe body(frame)
    }

    /// Calls `body` with the thread's hazard pointer for reads that copy a value. `body` must run
    /// no user code and must not call this function: the inner call would end the outer protection.
    @inlinable @inline(__always)
    static func withCopyPin<Result>(_ body: (borrowing HazardPointer) -> Result) -> Result {
        // Safe: records are never freed.
        let record = unsafe current
        defer { unsafe record.pointee.copyPin.clear() }
        return unsafe body(record.pointee.copyPin)
    }
}

extension UnsafeMutablePointer<ThreadRecord> {
    /// Returns the frame of the pass that starts now, one level deeper than the pass around it.
    @inlinable @inline(__always)
    func enterFrame() -> UnsafeMutablePointer<Frame> {
        // Safe: records are never freed. Relaxed: only the owner writes it. Release: as in
        // leaveFrame(); a scan may read this store instead of the store there. This store is
        // ordered before the stores to the frame: `current` is stored with release, and `pin`
        // before the end of a read section. A scan whose barrier makes those stores visible
        // therefore reads the frame.
        let depth = unsafe pointee.depth.load(ordering: .relaxed)
        unsafe pointee.depth.store(depth &+ 1, ordering: .releasing)
        if _fastPath(depth < ThreadRecord.inlineFrames) {
            return unsafe inlineFrames + depth
        }
        return unsafe deepFrame(depth - ThreadRecord.inlineFrames)
    }

    /// Ends the use of the innermost frame.
    @inlinable @inline(__always)
    func leaveFrame() {
        // Safe: records are never freed. Relaxed: only the owner writes it. Release: pairs with the
        // acquire in forEachFrame(_:); a scan that no longer reads the frame comes after the work
        // of its callbacks.
        unsafe pointee.depth.store(pointee.depth.load(ordering: .relaxed) &- 1, ordering: .releasing)
    }

    /// The first of the frames inside the record.
    @inlinable @inline(__always)
    var inlineFrames: UnsafeMutablePointer<Frame> {
        // Safe: `ThreadRecord.allocate` has placed the frames at this distance.
        unsafe (UnsafeMutableRawPointer(self) + ThreadRecord.framesOffset).assumingMemoryBound(to: Frame.self)
    }

    /// Returns the frame with the number `index` among the frames outside the record. Allocates
    /// more frames when the thread nests as deep for the first time.
    ///
    /// A callback that calls itself endlessly reaches this function again and again. Therefore the
    /// function traps when the stack is nearly used up. The rest of the stack is then enough for
    /// the message. (P6)
    @usableFromInline @inline(never)
    func deepFrame(_ index: Int) -> UnsafeMutablePointer<Frame> {
        if CurrentThread.stackIsNearlyUsedUp {
            trapEndlessRecursion(depth: index + ThreadRecord.inlineFrames + 1)
        }
        // Safe: blocks of frames are linked once and never freed; only the owner appends.
        var index = index
        var capacity = FrameBlock.leastCapacity
        var link = unsafe UnsafePointer(addressOf: pointee.deeperFrames)
        while true {
            // Relaxed: only the owner writes it.
            var block = unsafe FrameBlock.at(link.pointee.load(ordering: .relaxed))
            if unsafe block == nil {
                unsafe block = FrameBlock.allocate(capacity)
                // Release: pairs with the acquire in forEachFrame(below:_:), which reads the
                // block's frames.
                unsafe link.pointee.store(UInt(bitPattern: block), ordering: .releasing)
            }
            if index < capacity { return unsafe block!.pointee.frames + index }
            index -= capacity
            // Each block is twice as large as the one before, so few links lead to a frame, however
            // deep a thread nests.
            capacity *= 2
            unsafe link = UnsafePointer(addressOf: block!.pointee.next)
        }
    }
}

// How other threads read its frames: `FrameScan`, and `CallbackAges`, which finds callbacks that
// run for long.
extension UnsafeMutablePointer<ThreadRecord> {
    /// Calls `body` with every frame of the record that is in use. Any thread may call it. The
    /// caller must first execute the barrier that makes the frames' contents visible.
    ///
    /// - Complexity: O(*n*), where *n* is the number of passes that are nested on the thread now.
    func forEachFrame(_ body: (UnsafeMutablePointer<Frame>) -> Void) {
        // Acquire: pairs with the release in leaveFrame(). If a frame was in use at the barrier and
        // is not in use now, its pass has left it: the work of that pass happens before the
        // reclaiming.
        let depth = unsafe pointee.depth.load(ordering: .acquiring)
        unsafe forEachFrame(below: depth, body)
    }

    /// Calls `body` with every existing frame whose level is below `depth`.
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
}

extension UnsafePointer where Pointee: ~Copyable {
    /// Makes a pointer to a stored property. The memory that contains the property must never move
    /// or be freed.
    fileprivate init(addressOf property: borrowing Pointee) {
        // Safe: the caller's property is in memory that is never moved or freed. An atomic is lent
        // in place, never as a copy.
        unsafe self = withUnsafePointer(to: property) { unsafe $0 }
    }
}

/// Traps with the message that callbacks recurse endlessly. `depth` is the number of nested passes.
private func trapEndlessRecursion(depth: Int) -> Never {
    fatalError(
        """
        ConcurrentObserve: \(depth) callbacks are nested on a thread whose stack is nearly used up. A callback that sets the property \
        it observes, or notifies its own registry, calls itself: let it stop, by comparing before it sets, or have it delivered \
        later, by `.serial`, on a queue or on an actor. If the recursion has an end, run it on a thread with a larger stack.
        """
    )
}
