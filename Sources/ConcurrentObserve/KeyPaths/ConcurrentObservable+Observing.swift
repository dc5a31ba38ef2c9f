// SPDX-License-Identifier: Apache-2.0

extension ConcurrentObservable {
    /// Calls `body` with every change of the property that `path` leads to, wherever it leads: short for
    /// `property(_:)` and `observe`. (P1, P2, P4)
    ///
    /// - Parameters:
    ///   - path: The steps, as in `\.engine.rpm`.
    ///   - options: What to receive in addition to the changes. `.prior` precedes changes of the
    ///     last property.
    ///   - delivery: Where `body` is called, and how many calls run at a time.
    ///   - body: Called under no lock.
    /// - Returns: The token that keeps the observation going.
    /// - Complexity: O(steps). A replacement: O(steps below it).
    @inlinable
    public func observe<Value: Sendable>(
        _ path: PathTo<Self, Value>,
        options: ObservationOptions = [],
        delivery: Delivery = .inline,
        _ body: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        property(path).observe(options: options, delivery: delivery, body)
    }
}
