// SPDX-License-Identifier: Apache-2.0

// How other threads wait for the library's threads, of which the system may have none to give.
extension ReclamationThread {
    /// Waits, ten milliseconds at most, until a pass has taken what is retired.
    func waitUntilTaken() {
        let ticket = taken.ticket()
        guard Self.wake(urgently: true) else {
            // The system has no thread to give: this thread makes the pass, or every further
            // retirement would wait in vain.
            pass()
            return
        }
        taken.wait(ticket, atMost: .milliseconds(10))
    }

    /// Waits for something that the library's threads bring about. Asks for these threads again and
    /// again while the system has none to give. (P9)
    ///
    /// - Parameter isDone: Looks, and changes nothing.
    func wait(for name: StaticString, until isDone: () -> Bool) {
        var backoff = Backoff()
        while !isDone() {
            // Once it runs, it asks for deinit threads again and again.
            if hasThread() { return Backoff.wait(for: name) { !isDone() } }
            backoff.pause()
        }
    }

    /// Asks for a pass, and for a thread if there is none.
    private func hasThread() -> Bool {
        return Self.wake(urgently: true)
    }

    /// Waits until everything that was retired before the call is reclaimed.
    func drain(until deadline: ContinuousClock.Instant?) -> DrainOutcome {
        if ThreadRecord.isInsideCallback { return .deferred }
        // Relaxed, both: see sweepMagazines(into:).
        drains.add(1, ordering: .relaxed)
        defer { drains.subtract(1, ordering: .relaxed) }
        let releases = MagazineReleases.current()
        guard waitForBatches(until: deadline) else { return .timedOut }
        if passesOverReleases(since: releases) { return .finished }
        // Until that pass, threads have claimed what was in their magazines. What they find pinned
        // they hand over to the next.
        return MagazineReleases.wait(until: deadline) && waitForBatches(until: deadline) ? .finished : .timedOut
    }

    /// Whether no thread has been releasing its magazine since `releases` was looked at.
    private func passesOverReleases(since releases: MagazineReleases) -> Bool {
        return releases.isAtRest && MagazineReleases.current().begun == releases.begun
    }

    /// Waits until all items are reclaimed that were on a thread's stack, or in its magazine, at
    /// the call.
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
            if needsPass(for: target), !Self.wake(urgently: true) {
                // The system has no thread to give: this thread makes the pass, and asks again.
                pass()
                limit = min(limit ?? Self.longestPause, Self.longestPause)
            }
            batches.completion.wait(ticket, atMost: limit)
        }
    }

    /// Whether a drain must ask for a pass.
    ///
    /// Once its items are taken, they wait for deinit threads and callbacks: further passes would
    /// only compete with these for processors.
    private func needsPass(for target: UInt64) -> Bool {
        return !batches.hasBegun(target) || !isRunning
    }
}

/// How a `drain` ended.
public enum DrainOutcome: Sendable, Equatable {
    /// Everything that was retired before the call is reclaimed.
    case finished
    /// The deadline came first. What is left is reclaimed later, by itself.
    case timedOut
    /// The call came from inside a callback, where waiting can deadlock. What is left is reclaimed
    /// later, by itself.
    case deferred
}
