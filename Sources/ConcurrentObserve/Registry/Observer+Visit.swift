// SPDX-License-Identifier: Apache-2.0

public import Synchronization

extension Observer {
    /// Calls `call` with the address of an observer if the observer is live: a pass over one
    /// observer. (P6, P8, P9)
    ///
    /// The caller must hold the observer. As in a walk, the frame's `current` keeps the closure.
    @inlinable @inline(__always)
    static func visit(at address: UInt, _ call: (_ observer: UInt) -> Void) {
        // Safe: records are never freed; the frame is this pass's until leaveFrame().
        let record = unsafe ThreadRecord.current
        let frame = unsafe record.enterFrame()
        defer { unsafe record.leaveFrame() }
        if unsafe announce(address, in: frame) {
            call(address)
        }
        unsafe frame.pointee.clear()
    }

    /// Stores an observer as the one that the frame's thread is about to call. Returns true if it
    /// is live. Then its closure stays alive until the frame is cleared.
    @inlinable @inline(__always)
    static func announce(_ address: UInt, in frame: UnsafeMutablePointer<Frame>) -> Bool {
        // Safe, all: frames are never freed.
        // Relaxed: a statistic with one writer.
        unsafe frame.pointee.passes.store(frame.pointee.passes.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        // Release: as in a walk.
        unsafe frame.pointee.current.store(address, ordering: .releasing)
        // Between the store of current and the load of the mark: pairs with
        // AsymmetricBarrier.heavy().
        AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)
        return Observer.isActive(at: address)
    }
}
