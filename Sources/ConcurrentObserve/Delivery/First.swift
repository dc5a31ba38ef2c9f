// SPDX-License-Identifier: Apache-2.0

extension ObservableProperty {
    /// Returns the first value that `predicate` accepts: the present one, or the first later one.
    /// Suspends until there is one. (P4)
    ///
    /// ```swift
    /// let speed = try await car.speed.first { $0 > 100 }
    /// ```
    ///
    /// Any task may call it, on any actor. The call blocks neither a thread nor an actor.
    /// `predicate` is called on the caller's actor, under no lock, once with the present value and
    /// once with each later one, in the order of the versions, also if a value is replaced before
    /// the task runs. If changes of a group, a path or a derived value race, they may be folded
    /// into one. (P1, P2, P5)
    ///
    /// The observation has ended when the call returns or throws. (P8) The call releases its
    /// reference to the property before it waits. (P11)
    ///
    /// - Parameter predicate: Returns true for the value to wait for.
    /// - Returns: The value that was accepted.
    /// - Throws: `CancellationError` once the task is cancelled. ``ObservationEnd/sourceDeleted``
    ///   if the source is gone (P12), and ``ObservationEnd/cancelled`` if its observations are
    ///   cancelled, before a value was accepted. Any error of `predicate`.
    /// - Complexity: One registration and a call of `predicate` for each value.
    @discardableResult
    public nonisolated(nonsending) consuming func first(
        where predicate: (Value) throws -> Bool
    ) async throws -> Value {
        try Task.checkCancellation()
        return try await (consume self).presentAndLater().first(where: predicate)
    }

    /// Returns the first value that `predicate` accepts: the present one, or the first later one
    /// before the timeout. Suspends until there is one. (P4)
    ///
    /// ```swift
    /// let speed = try await car.speed.first(timeout: .seconds(5)) { $0 > 100 }
    /// ```
    ///
    /// Any task may call it, on any actor. The call blocks neither a thread nor an actor.
    /// `predicate` is called on the caller's actor, under no lock, once with the present value and
    /// once with each later one, in the order of the versions, also if a value is replaced before
    /// the task runs. If changes of a group, a path or a derived value race, they may be folded
    /// into one. (P1, P2, P5)
    ///
    /// `predicate` is called with every value that was delivered before the timeout, even if the
    /// task runs late. It is called with the present value even if the timeout is zero or less, and
    /// before the clock's `sleep`. If that call takes longer than the timeout, `predicate` is then
    /// called with the values that came in the meantime, and with no later one. If `sleep` throws,
    /// the time is over. If `sleep` ignores cancellation, the call returns when `sleep` does.
    ///
    /// The observation has ended when the call returns or throws. (P8) The call releases its
    /// reference to the property before it waits. (P11)
    ///
    /// - Parameters:
    ///   - timeout: The time to wait, from the call on.
    ///   - clock: The clock that measures the timeout.
    ///   - predicate: Returns true for the value to wait for.
    /// - Returns: The value that was accepted.
    /// - Throws: ``ObservationTimeout`` of `Value`, with the last value, if no value was accepted
    ///   in time. `CancellationError` once the task is cancelled. ``ObservationEnd/sourceDeleted``
    ///   if the source is gone (P12), and ``ObservationEnd/cancelled`` if its observations are
    ///   cancelled, before a value was accepted: these errors take precedence over the timeout. Any
    ///   error of `predicate`.
    /// - Complexity: One registration, a timer, and a call of `predicate` for each value.
    @discardableResult
    public nonisolated(nonsending) consuming func first<C: Clock>(
        timeout: Duration,
        clock: C = ContinuousClock(),
        where predicate: (Value) throws -> Bool
    ) async throws -> Value where C.Duration == Duration {
        try Task.checkCancellation()
        let deadline = Deadline(timeout, clock)
        return try await (consume self).presentAndLater()
            .first(before: deadline, hasPresent: true, where: predicate)
    }

    /// Begins an iteration over the present value and all later ones.
    private func presentAndLater() -> IteratorSource<Value> {
        let factory = IteratorFactory<Value, Value>(.unbounded, nil) { $0.new }
        return factory.take(keeping: attach(PropertyObserver(ObserverOptions(.initial), .mailbox(factory))))
    }
}

extension ObserverRegistry {
    /// Returns the first event that `predicate` accepts, among the events whose notification begins
    /// after the call. Suspends until there is one. (P1)
    ///
    /// ```swift
    /// let login = try await logins.first { $0.name == "Ada" }
    /// ```
    ///
    /// Any task may call it, on any actor. The call blocks neither a thread nor an actor.
    /// `predicate` is called on the caller's actor, under no lock, once with each event, in the
    /// order of arrival. (P5) The observation has ended when the call returns or throws. (P8) The
    /// call releases its reference to the registry before it waits. (P11)
    ///
    /// - Parameter predicate: Returns true for the event to wait for.
    /// - Returns: The event that was accepted.
    /// - Throws: `CancellationError` once the task is cancelled. ``ObservationEnd/sourceDeleted``
    ///   if the registry is gone (P12), and ``ObservationEnd/cancelled`` if its observations are
    ///   cancelled, before an event was accepted. Any error of `predicate`.
    /// - Complexity: One registration and a call of `predicate` for each event.
    @discardableResult
    public nonisolated(nonsending) consuming func first(
        where predicate: (Event) throws -> Bool
    ) async throws -> Event {
        try Task.checkCancellation()
        return try await (consume self).makeIteratorSource(.unbounded).first(where: predicate)
    }

    /// Returns the first event that `predicate` accepts, among the events whose notification begins
    /// after the call and before the timeout. Suspends until there is one. (P1)
    ///
    /// ```swift
    /// let login = try await logins.first(timeout: .seconds(5)) { $0.name == "Ada" }
    /// ```
    ///
    /// Any task may call it, on any actor. The call blocks neither a thread nor an actor.
    /// `predicate` is called on the caller's actor, under no lock, once with each event, in the
    /// order of arrival. (P5) It is called with every event that came before the timeout, even if
    /// the task runs late. If the clock's `sleep` throws, the time is over. If `sleep` ignores
    /// cancellation, the call returns when `sleep` does.
    ///
    /// The observation has ended when the call returns or throws. (P8) The call releases its
    /// reference to the registry before it waits. (P11)
    ///
    /// - Parameters:
    ///   - timeout: The time to wait, from the call on.
    ///   - clock: The clock that measures the timeout.
    ///   - predicate: Returns true for the event to wait for.
    /// - Returns: The event that was accepted.
    /// - Throws: ``ObservationTimeout`` of `Event`, with the last event, if no event was accepted
    ///   in time. `CancellationError` once the task is cancelled. ``ObservationEnd/sourceDeleted``
    ///   if the registry is gone (P12), and ``ObservationEnd/cancelled`` if its observations are
    ///   cancelled, before an event was accepted: these errors take precedence over the timeout.
    ///   Any error of `predicate`.
    /// - Complexity: One registration, a timer, and a call of `predicate` for each event.
    @discardableResult
    public nonisolated(nonsending) consuming func first<C: Clock>(
        timeout: Duration,
        clock: C = ContinuousClock(),
        where predicate: (Event) throws -> Bool
    ) async throws -> Event where C.Duration == Duration {
        try Task.checkCancellation()
        let deadline = Deadline(timeout, clock)
        return try await (consume self).makeIteratorSource(.unbounded)
            .first(before: deadline, hasPresent: false, where: predicate)
    }
}

/// No value was accepted in time. `first(timeout:clock:where:)` throws this error.
///
/// ```swift
/// do {
///     try await state.first(timeout: .seconds(5)) { $0 == .ready }
/// } catch let error as ObservationTimeout<State> {
///     print("still \(error.lastValue!)")
/// }
/// ```
public struct ObservationTimeout<Value: Sendable>: Error, CustomStringConvertible {
    /// The last value that was not accepted; nil if there was none, as in a registry without an
    /// event.
    ///
    /// With `removingDuplicates()` of a weak property, the last value is made and compared again
    /// for this error: it is nil if the referent has died.
    public let lastValue: Value?
    /// The timeout that was passed to the call.
    public let timeout: Duration

    public var description: String {
        let last = lastValue.map { "the last was \($0)" } ?? "there was none"
        return "no value was accepted within \(timeout); \(last)"
    }
}

// MARK: - The wait

// A wait is an iteration that ends early. The iterator's mailbox ensures that no element is missed,
// and the subscription ensures that the task is resumed once. At a timeout the iterator's mailbox
// takes the end of the source, so elements that came before the timeout are still passed to the
// predicate.

extension IteratorSource {
    /// Returns the first element that `predicate` accepts. The observation has ended when this
    /// returns or throws. (P8)
    nonisolated(nonsending) func first(where predicate: (Element) throws -> Bool) async throws -> Element {
        defer { cancel() }
        return try await search(predicate, nil)
    }

    /// Returns the first element that `predicate` accepts before the deadline. The observation has
    /// ended when this returns or throws. (P8)
    ///
    /// - Parameter hasPresent: Whether the source has a first element at once: the present value.
    ///   Then this element is passed to `predicate` before a timer starts.
    nonisolated(nonsending) func first(
        before deadline: Deadline<some Clock<Duration>>,
        hasPresent: Bool,
        where predicate: (Element) throws -> Bool
    ) async throws -> Element {
        defer { cancel() }
        let wait = TimedWait<Element>(deadline.timeout)
        if hasPresent, let element = await next(wait), try predicate(element) { return element }
        if deadline.isReached {
            expire()
            return try await search(predicate, wait)
        }
        async let _ = expire(at: deadline)
        return try await search(predicate, wait)
    }

    /// Returns the first element that `predicate` accepts. It keeps no element while it waits for
    /// the next one: the element may retain a weak property's referent. (P11)
    private nonisolated(nonsending) func search(
        _ predicate: (Element) throws -> Bool,
        _ wait: TimedWait<Element>?
    ) async throws -> Element {
        while let element = await next(wait) {
            if try predicate(element) { return element }
        }
        try Task.checkCancellation()
        if let end = mailbox.sourceEnd { throw end }
        guard let wait else { throw ObservationEnd.sourceDeleted }
        throw ObservationTimeout(lastValue: wait.lookAgain?(), timeout: wait.timeout)
    }

    /// Returns the next element; nil at the end. If the subscription keeps elements, this takes one
    /// from there. Otherwise `nextMade` takes an event, and makes the element from it.
    ///
    /// - Parameter wait: Receives a function that makes the element again; nil if the wait has no
    ///   timeout.
    private nonisolated(nonsending) func next(_ wait: TimedWait<Element>?) async -> Element? {
        guard let subscription else { return await nextMade(isolation: #isolation, wait) }
        let element = unkept(await subscription.next(isolation: #isolation))
        if let element { wait?.lookAgain = { element } }
        return element
    }

    private func expire(at deadline: Deadline<some Clock<Duration>>) async {
        // If the clock cannot sleep, the wait ends. Otherwise the call could wait forever.
        try? await deadline.clock.sleep(until: deadline.instant, tolerance: nil)
        expire()
    }

    /// Ends the iteration: the mailbox takes no more elements. Does nothing after the wait.
    private func expire() {
        mailbox.finish()
    }
}

/// The moment at which a wait times out. The time starts when this value is made.
internal struct Deadline<C: Clock<Duration>>: Sendable {
    let timeout: Duration
    let clock: C
    let instant: C.Instant

    init(_ timeout: Duration, _ clock: C) {
        // Limited, because a clock traps if the sum overflows.
        let reached = min(max(timeout, .zero), .seconds(1 << 60))
        (self.timeout, self.clock, instant) = (timeout, clock, clock.now.advanced(by: reached))
    }

    var isReached: Bool { clock.now >= instant }
}

/// Stores the timeout of a wait, and a function that makes the last element again. The error at a
/// timeout contains that element.
@usableFromInline
internal final class TimedWait<Element: Sendable>: @unchecked Sendable {
    // Unchecked: only the waiting task uses it.
    let timeout: Duration
    /// Makes the last element again; nil before the first element. Does not retain the referent of
    /// a weak property. (P11)
    var lookAgain: (@Sendable () -> Element?)?

    init(_ timeout: Duration) { self.timeout = timeout }
}
