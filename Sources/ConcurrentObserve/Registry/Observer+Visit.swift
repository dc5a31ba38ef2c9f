// SPDX-License-Identifier: Apache-2.0

extension Observer {
    /// Calls `call` with the address of an observer if the observer is live: a pass over one
    /// observer. (P6, P8, P9)
    ///
    /// The caller must hold the observer. As in a walk, the frame's `current` keeps the closure.
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
