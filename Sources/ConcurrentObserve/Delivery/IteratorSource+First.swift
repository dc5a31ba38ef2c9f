// SPDX-License-Identifier: Apache-2.0

import Synchronization

// A wait is an iteration that ends early. The iterator's mailbox sees to it that no element is missed, and the subscription
// that the task is resumed once. What ends the wait early is an end of the source for this iterator: so the elements that came
// before it are still looked at.

extension IteratorSource {
    /// The first element that `predicate` accepts. The observation has ended when this returns or throws. (P8)
    nonisolated(nonsending) func first(where predicate: (Element) throws -> Bool) async throws -> Element {
        defer { cancel() }
        if let element = try await search(predicate, nil) { return element }
        throw end
    }

    /// The first element that `predicate` accepts before the deadline. The observation has ended when this returns or throws. (P8)
    ///
    /// - Parameter hasPresent: Whether the first element is there at once: it is looked at without a timer.
    nonisolated(nonsending) func first(
        before deadline: Deadline<some Clock<Duration>>,
        hasPresent: Bool,
        where predicate: (Element) throws -> Bool
    ) async throws -> Element {
        defer { cancel() }
        let wait = TimedWait<Element>()
        if hasPresent, let element = await next(wait), try predicate(element) { return element }
        if deadline.timeout <= .zero { expire(wait) }
        async let _ = expire(wait, at: deadline)
        if let element = try await search(predicate, wait) { return element }
        // Relaxed: the subscription's lock is between the store, which comes before the end, and the task that finds the end.
        guard wait.hasExpired.load(ordering: .relaxed) else { throw end }
        throw ObservationTimeout(lastValue: wait.lookAgain?(), timeout: deadline.timeout)
    }

    /// Returns the element that `predicate` accepts, or nil at the end. Keeps no element while it waits for the next: that may be what retains a weak property's referent. (P11)
    private nonisolated(nonsending) func search(
        _ predicate: (Element) throws -> Bool,
        _ wait: TimedWait<Element>?
    ) async throws -> Element? {
        while let element = await next(wait) {
            if try predicate(element) { return element }
        }
        try Task.checkCancellation()
        return nil
    }

    private nonisolated(nonsending) func next(_ wait: TimedWait<Element>?) async -> Element? {
        if let transformed { return await transformed.next(isolation: #isolation, wait) }
        let element = await subscription!.next(isolation: #isolation)
        if let element { wait?.lookAgain = { element } }
        return element
    }

    private func expire(_ wait: TimedWait<Element>, at deadline: Deadline<some Clock<Duration>>) async {
        // A clock that cannot sleep ends the wait: without that the call could wait for ever.
        try? await deadline.clock.sleep(until: deadline.instant, tolerance: nil)
        if !Task.isCancelled { expire(wait) }
    }

    private func expire(_ wait: TimedWait<Element>) {
        wait.hasExpired.store(true, ordering: .relaxed)
        mailbox.finish()
    }

    /// Why there is no next element.
    private var end: ObservationEnd { mailbox.isRemoved ? .cancelled : .sourceDeleted }
}

/// When a wait ends that began now.
internal struct Deadline<C: Clock<Duration>>: Sendable {
    let timeout: Duration
    let clock: C
    let instant: C.Instant

    init(_ timeout: Duration, _ clock: C) {
        // A clock traps if the sum overflows.
        let reached = min(timeout, .seconds(1 << 60))
        (self.timeout, self.clock, instant) = (timeout, clock, clock.now.advanced(by: reached))
    }
}

/// The task and the timer of a wait share it: the last element, and whether the time is over.
internal final class TimedWait<Element: Sendable>: @unchecked Sendable {
    // Unchecked: `lookAgain` is the waiting task's.
    /// Makes the last element again. Does not keep the referent of a weak property. (P11)
    var lookAgain: (@Sendable () -> Element?)?
    let hasExpired = Atomic<Bool>(false)
}
