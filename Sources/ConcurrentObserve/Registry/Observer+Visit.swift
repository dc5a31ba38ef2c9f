// SPDX-License-Identifier: Apache-2.0

extension Observer {
    /// Calls `call` with the address of one observer, if its observation has not ended. Without a
    /// walk over a table, it serves initial changes, deliveries from a mailbox, and the way back of
    /// a binding. (P6, P8, P9)
    ///
    /// The caller must keep the observer allocated. As in a walk over a table, the hazard pointer
    /// `current` of the thread's frame keeps the closure during the call.
    @inlinable @inline(__always)
    static func visit(at address: UInt, _ call: (_ observer: UInt) -> Void) {
        // Safe: the frame is this pass's until the call returns.
        unsafe ThreadRecord.withFrame { frame in
            unsafe frame.pointee.countPass()
            let lent = unsafe frame.pointee.current.protect(address) {
                Observer.isActive(at: address)
            }
            guard let lent else { return }
            call(lent)
        }
    }
}
