// SPDX-License-Identifier: Apache-2.0

extension ReclamationThread {
    /// Says that there is a thread, whether or not there is one.
    func askOnce() -> Bool {
        Self.wake(urgently: true)
        return true
    }
}
