// SPDX-License-Identifier: Apache-2.0

public import CURCU

/// The short stretch in which a published pointer may be loaded and pinned: liburcu's read-side critical section.
///
/// Between `enter` and `leave` run a few instructions of this library, never user code, so a grace period never waits for
/// anybody's callback. (P5)
@usableFromInline
internal enum ReadSection {
    @inlinable @inline(__always)
    static func enter() {
        enterForbiddenForUserCode()
        curcu_read_lock()
        exploredReadDepth(1)
    }

    @inlinable @inline(__always)
    static func leave() {
        exploredReadDepth(-1)
        curcu_read_unlock()
        leaveForbiddenForUserCode()
    }
}

/// Waits until every read section that was open at the call has been left; a full barrier on every thread.
///
/// Afterwards every pin that was stored inside those sections is visible to a scan.
internal func waitForGracePeriod() {
    if mutant("grace period does nothing") { return }
    if exploredGracePeriod() { return }
    curcu_synchronize()
}
