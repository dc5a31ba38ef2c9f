// SPDX-License-Identifier: Apache-2.0

extension IteratorSource {
    /// The observation goes on.
    func leave() {
        // Safe: a reference that is never released.
        if let token { _ = unsafe Unmanaged.passRetained(token) }
    }
}
