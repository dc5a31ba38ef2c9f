// SPDX-License-Identifier: Apache-2.0

extension ThreadRecord {
    /// Whether the changes are made that the thread has prepared whose record is at `address`. (P19)
    static func hasCommitted(_ address: UInt) -> Bool {
        // Safe: records are never freed.
        unsafe UnsafePointer<ThreadRecord>(bitPattern: address).unsafelyUnwrapped.pointee.decision.isMade
    }
}
