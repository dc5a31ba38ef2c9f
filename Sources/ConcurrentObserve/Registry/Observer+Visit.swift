// SPDX-License-Identifier: Apache-2.0

public import Synchronization

extension Observer {
    /// Calls `call` with the address of an observer if that is live: a pass over one observer. (P6,
    /// P8, P9)
    ///
    /// The caller holds the observer; as in a walk, the frame's `current` keeps the closure.
    @inlinable @inline(__always)
    static func visit(at address: UInt, _ call: (_ observer: UInt) -> Void) {
        // Safe: records are never freed; the frame is this pass's until leaveFrame().
        let record = unsafe ThreadRecord.current
        let frame = unsafe record.enterFrame()
        defer { unsafe record.leaveFrame() }
        // Relaxed: a statistic with one writer.
        unsafe frame.pointee.passes.store(frame.pointee.passes.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        // Release: as in a walk.
        unsafe frame.pointee.current.store(address, ordering: .releasing)
        // Between the store of current and the load of the mark: pairs with
        // AsymmetricBarrier.heavy().
        AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)
        inject("visit.current")
        if Observer.isActive(at: address) {
            inject("visit.marked")
            call(address)
        }
        unsafe frame.pointee.clear()
    }
}
