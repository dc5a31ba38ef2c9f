// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

// Other threads wait for the library's threads by these functions. They also work while the system
// cannot start the library's threads.
extension ReclamationThread {
    /// Waits until a pass has taken the retired items, but at most ten milliseconds. If the
    /// reclamation thread does not run, the calling thread makes the pass.
    ///
    /// This function is out of line: its callers are inlined where an observation ends, and seldom
    /// call it.
    @inline(never)
    func waitUntilTaken() {
        let ticket = taken.ticket()
        guard Self.wake(urgently: true) else {
            // The system cannot start a thread. This thread makes the pass; otherwise every further
            // retirement would wait its ten milliseconds without effect.
            pass()
            return
        }
        taken.wait(ticket, atMost: .milliseconds(10))
    }

    /// Waits until an event that the library's threads cause has happened. While the reclamation
    /// thread does not exist, tries again and again to start it. (P9)
    ///
    /// - Parameter isDone: Returns whether the event has happened. It must have no side effects.
    func wait(for name: StaticString, until isDone: () -> Bool) {
        var backoff = Backoff()
        while !isDone() {
            // Once the reclamation thread runs, that thread tries again and again to start deinit
            // threads.
            if Self.wake(urgently: true) { return Backoff.wait(for: name) { !isDone() } }
            backoff.pause()
        }
    }

    /// Waits until everything that was retired before the call is reclaimed. Must not be called
    /// inside a callback.
    ///
    /// - Returns: `finished`, or `timedOut` if the deadline came first.
    func drain(until deadline: ContinuousClock.Instant?) -> WaitOutcome {
        // Relaxed, both: see sweepMagazinesLocked(into:).
        drains.add(1, ordering: .relaxed)
        defer { drains.subtract(1, ordering: .relaxed) }
        let releases = MagazineReleases.current()
        guard waitForBatches(until: deadline) else { return .timedOut }
        if releases.isAtRest, MagazineReleases.current().begun == releases.begun { return .finished }
        // Before the pass that this call waited for, threads may have claimed references in their
        // own magazines. They leave the references whose objects are pinned to the next pass.
        return MagazineReleases.wait(until: deadline) && waitForBatches(until: deadline) ? .finished : .timedOut
    }

    /// Waits until all items are reclaimed that were on a thread's stack, in its magazine or in its
    /// ring at the call.
    ///
    /// - Returns: False if the deadline came first.
    private func waitForBatches(until deadline: ContinuousClock.Instant?) -> Bool {
        let target = batches.nextToBegin
        while true {
            let ticket = batches.completion.ticket()
            if batches.isComplete(through: target) { return true }
            var limit: Duration?
            if let deadline {
                let remaining = ContinuousClock.now.duration(to: deadline)
                guard remaining > .zero else { return false }
                limit = remaining
            }
            // Once a pass has taken the items, they wait for deinit threads and for callbacks.
            // Further passes would only compete with these for processors.
            let needsPass = !batches.hasBegun(target) || !isRunning
            if needsPass, !Self.wake(urgently: true) {
                // The system cannot start a thread. This thread makes the pass, and tries again
                // later.
                pass()
                limit = min(limit ?? Self.longestPause, Self.longestPause)
            }
            batches.completion.wait(ticket, atMost: limit)
        }
    }
}

/// How a `cancelAndWait()` or a `drain` ended.
public enum WaitOutcome: Sendable, Equatable {
    /// After `cancelAndWait()`, no callback of the observation is running, none will begin, and its
    /// closure is destroyed. After a `drain`, everything that was retired before the call is
    /// reclaimed.
    case finished
    /// The deadline of a `drain` came first. The remaining items are reclaimed later, without
    /// another call. `cancelAndWait()` never returns this.
    case timedOut
    /// The call did not wait, because it was made inside a callback, where waiting can deadlock.
    /// After `cancelAndWaitBlocking()`, the observation has ended. It reaches the state of
    /// `finished` when its running callbacks have returned, and `onEnd` is then called. After a
    /// `drain`, the items are reclaimed later, without another call.
    case deferred
}
