// SPDX-License-Identifier: Apache-2.0

// A wait is an iteration that ends early. The iterator's mailbox sees to it that no element is missed, and the subscription
// that the task is resumed once. What ends the wait early is an end of the source for this iterator: so the elements that came
// before it are still looked at.

extension IteratorSource {
    /// The first element that `predicate` accepts. The observation has ended when this returns or throws. (P8)
    nonisolated(nonsending) func first(where predicate: (Element) throws -> Bool) async throws -> Element {
        defer { cancel() }
        if let element = try await search(predicate, nil) { return element }
        throw mailbox.sourceEnd ?? .sourceDeleted
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
        if deadline.isReached {
            expire()
            return try await search(predicate, wait, until: deadline.timeout)
        }
        async let _ = expire(at: deadline)
        return try await search(predicate, wait, until: deadline.timeout)
    }

    private nonisolated(nonsending) func search(
        _ predicate: (Element) throws -> Bool,
        _ wait: TimedWait<Element>,
        until timeout: Duration
    ) async throws -> Element {
        if let element = try await search(predicate, wait) { return element }
        if let end = mailbox.sourceEnd { throw end }
        throw ObservationTimeout(lastValue: wait.lookAgain?(), timeout: timeout)
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

    private func expire(at deadline: Deadline<some Clock<Duration>>) async {
        // A clock that cannot sleep ends the wait: without that the call could wait for ever.
        try? await deadline.clock.sleep(until: deadline.instant, tolerance: nil)
        expire()
    }

    /// The mailbox takes no more elements. After the wait this changes nothing.
    private func expire() {
        mailbox.finish()
    }
}

/// When a wait ends that began now.
internal struct Deadline<C: Clock<Duration>>: Sendable {
    let timeout: Duration
    let clock: C
    let instant: C.Instant

    init(_ timeout: Duration, _ clock: C) {
        // A clock traps if the sum overflows.
        let reached = min(max(timeout, .zero), .seconds(1 << 60))
        (self.timeout, self.clock, instant) = (timeout, clock, clock.now.advanced(by: reached))
    }

    var isReached: Bool { clock.now >= instant }
}

/// What the waiting task knows of the last element.
internal final class TimedWait<Element: Sendable>: @unchecked Sendable {
    // Unchecked: it is the waiting task's.
    /// Makes the last element again. Does not keep the referent of a weak property. (P11)
    var lookAgain: (@Sendable () -> Element?)?
}
