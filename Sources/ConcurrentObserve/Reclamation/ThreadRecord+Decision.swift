// SPDX-License-Identifier: Apache-2.0

extension ThreadRecord {
    /// Whether the thread whose record is at `address` has made the changes that it has prepared.
    /// (P19)
    static func hasCommitted(_ address: UInt) -> Bool {
        // Safe: records are never freed.
        unsafe UnsafePointer<ThreadRecord>(bitPattern: address).unsafelyUnwrapped.pointee.decision.isMade
    }
}
