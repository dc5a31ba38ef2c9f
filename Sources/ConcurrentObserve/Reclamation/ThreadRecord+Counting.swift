// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension ThreadRecord {
    /// Counts an observation that began or ended, for the diagnostics.
    @usableFromInline
    static func countLiveObserver(_ step: Int) {
        // Safe: records are never freed. Relaxed: a statistic with one writer.
        let counter = unsafe current
        unsafe counter.pointee.liveObservers.store(
            counter.pointee.liveObservers.load(ordering: .relaxed) &+ step,
            ordering: .relaxed
        )
    }

    /// Counts events that were sent, or, if negative, received or dropped, for the diagnostics.
    @usableFromInline
    static func countPending(_ step: Int) {
        // Safe: records are never freed. Relaxed: a statistic with one writer.
        let counter = unsafe current
        unsafe counter.pointee.pendingCount.store(
            counter.pointee.pendingCount.load(ordering: .relaxed) &+ step,
            ordering: .relaxed
        )
    }

    /// Counts events that their observer does not receive, for the diagnostics.
    @usableFromInline
    static func countDropped(_ count: Int) {
        // Safe: records are never freed. Relaxed: a statistic with one writer.
        let counter = unsafe current
        unsafe counter.pointee.droppedCount.store(
            counter.pointee.droppedCount.load(ordering: .relaxed) &+ UInt(count),
            ordering: .relaxed
        )
    }

    /// Counts an observation whose token was released within about a second after it began, for the
    /// diagnostics.
    static func countDroppedToken() {
        // Safe: records are never freed. Relaxed: a statistic with one writer.
        let counter = unsafe current
        unsafe counter.pointee.droppedTokens.store(
            counter.pointee.droppedTokens.load(ordering: .relaxed) &+ 1,
            ordering: .relaxed
        )
    }
}
