// SPDX-License-Identifier: Apache-2.0

/// Releases a reference under a lock, or once too often.
///
/// - Returns: Whether it is released.
func isReleasedWrongly(_ reference: UInt) -> Bool {
    if mutant(.aValueIsDestroyedUnderALock) {
        Lock().withLock { dropReference(reference) }
        return true
    }
    if mutant(.aValueIsDestroyedTwice) { dropReference(reference) }
    return false
}
