// SPDX-License-Identifier: Apache-2.0

extension IteratorSource {
    /// Lets the observation go on.
    ///
    /// - Returns: False: there is nothing to cancel.
    func endsByLeaving() -> Bool {
        // Safe: a reference that is never released.
        if let token { _ = unsafe Unmanaged.passRetained(token) }
        return false
    }
}
