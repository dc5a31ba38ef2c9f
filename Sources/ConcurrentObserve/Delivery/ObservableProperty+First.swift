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
    /// the task runs. A group, a path and a derived value may fold changes that race into one. (P1,
    /// P2, P5)
    ///
    /// The observation has ended when the call returns or throws. (P8) The call releases its
    /// reference to the property before it waits. (P11)
    ///
    /// - Parameter predicate: Returns true for the value to wait for.
    /// - Returns: The value that was accepted.
    /// - Throws: `CancellationError` once the task is cancelled. If no value was accepted before:
    ///   ``ObservationEnd/sourceDeleted`` when the source is gone (P12), and
    ///   ``ObservationEnd/cancelled`` when its observations are cancelled. Any error of
    ///   `predicate`.
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
    /// the task runs. A group, a path and a derived value may fold changes that race into one. (P1,
    /// P2, P5)
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
    ///   - timeout: How long to wait, from the call on.
    ///   - clock: The clock that measures the timeout.
    ///   - predicate: Returns true for the value to wait for.
    /// - Returns: The value that was accepted.
    /// - Throws: ``ObservationTimeout`` of `Value`, with the last value. `CancellationError` once
    ///   the task is cancelled. If no value was accepted before, and rather than the timeout:
    ///   ``ObservationEnd/sourceDeleted`` when the source is gone (P12), and
    ///   ``ObservationEnd/cancelled`` when its observations are cancelled. Any error of
    ///   `predicate`.
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
