// SPDX-License-Identifier: Apache-2.0

// A wait is an iteration that ends early. The iterator's mailbox ensures that no element is missed,
// and the subscription ensures that the task is resumed once. For this iterator a timeout is an end
// of the source, so elements that came before it are still passed to the predicate.

extension IteratorSource {
    /// Returns the first element that `predicate` accepts. The observation has ended when this
    /// returns or throws. (P8)
    nonisolated(nonsending) func first(where predicate: (Element) throws -> Bool) async throws -> Element {
        defer { cancel() }
        if let element = try await search(predicate, nil) { return element }
        throw mailbox.sourceEnd ?? .sourceDeleted
    }

    /// Returns the first element that `predicate` accepts before the deadline. The observation has
    /// ended when this returns or throws. (P8)
    ///
    /// - Parameter hasPresent: Whether the first element is there at once. Then it is passed to
    ///   `predicate` before a timer starts.
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

    /// Returns the first element that `predicate` accepts, or nil at the end. It keeps no element
    /// while it waits for the next one: the element may retain a weak property's referent. (P11)
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
        // If the clock cannot sleep, the wait ends. Otherwise the call could wait for ever.
        try? await deadline.clock.sleep(until: deadline.instant, tolerance: nil)
        expire()
    }

    /// Ends the iteration: the mailbox takes no more elements. Does nothing after the wait.
    private func expire() {
        mailbox.finish()
    }
}

/// The moment at which a wait times out. The time begins when this is made.
internal struct Deadline<C: Clock<Duration>>: Sendable {
    let timeout: Duration
    let clock: C
    let instant: C.Instant

    init(_ timeout: Duration, _ clock: C) {
        // Limited, since a clock traps if the sum overflows.
        let reached = min(max(timeout, .zero), .seconds(1 << 60))
        (self.timeout, self.clock, instant) = (timeout, clock, clock.now.advanced(by: reached))
    }

    var isReached: Bool { clock.now >= instant }
}

/// Gives the waiting task the last element again, for the error that it throws at a timeout.
internal final class TimedWait<Element: Sendable>: @unchecked Sendable {
    // Unchecked: only the waiting task uses it.
    /// Makes the last element again. Does not retain the referent of a weak property. (P11)
    var lookAgain: (@Sendable () -> Element?)?
}
