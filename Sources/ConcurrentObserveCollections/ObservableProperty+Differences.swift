// SPDX-License-Identifier: Apache-2.0

#if Collections
public import ConcurrentObserve

extension ObservableProperty {
    /// Calls `body` with the difference that each change makes, and with the change.
    ///
    /// If a delivery's policy drops changes, the next difference also contains what these have
    /// changed. Therefore, with `.latest`, a slow observer receives one difference for all that it
    /// has missed, and no key is lost. Only `droppingNewest` loses what it drops.
    ///
    /// - Parameters:
    ///   - options: With `.initial`, the first difference inserts every present key.
    ///   - delivery: Where `body` is called, and how many calls run at a time.
    ///   - body: Called under no lock.
    /// - Returns: The token that keeps the observation going.
    /// - Complexity: O(*d* log *n*) for each call, with *d* changed keys.
    @inlinable
    public func observeDifferences<Key, Element>(
        options: ObservationOptions = [],
        delivery: Delivery = .inline,
        _ body: @escaping @Sendable (PersistentDictionary<Key, Element>.Difference, Change<Value>) -> Void
    ) -> ObservationToken where Value == PersistentDictionary<Key, Element> {
        observe(options: options.intersection(.initial), delivery: delivery) { change in
            body(change.new.difference(from: change.old ?? [:]), change)
        }
    }

    /// Observes each value of the dictionary for as long as its key has this value, also values
    /// that are assigned later. Use it for values that are models.
    ///
    /// ```swift
    /// let token = cars.contents.observeEach { key, car in
    ///     car.mileage.observe { change in print(key, change.new) }
    /// }
    /// ```
    ///
    /// When a key is removed or assigned, the token of its earlier value's observation is released.
    /// When this observation has ended, the observations of all values have ended, too: after
    /// `cancelAndWait()` has returned, none goes on. (P9, P10)
    ///
    /// - Parameter observe: Returns the token of an observation of a value. Called once for each
    ///   assignment, one at a time and under no lock, on threads that change the dictionary; for
    ///   the present values, before this method returns.
    /// - Returns: The token that keeps all the observations going.
    public func observeEach<Key, Element>(
        _ observe: @escaping @Sendable (Key, Element) -> ObservationToken
    ) -> ObservationToken where Value == PersistentDictionary<Key, Element> {
        let tokens = TokensByKey<Key>()
        return self.observe(options: .initial, delivery: .serial(buffering: .latest)) { change, observation in
            let difference = change.new.difference(from: change.old ?? [:])
            for (key, _) in difference.removed { tokens.byKey[key] = nil }
            let assigned = difference.updated.map { ($0.key, $0.new) } + difference.inserted.map { ($0.key, $0.value) }
            for (key, value) in assigned where observation.isActive {
                // Before the next observation begins, so that no change is delivered to both.
                tokens.byKey[key] = nil
                tokens.byKey[key] = observe(key, value)
            }
        }
    }
}

/// The tokens of `observeEach`.
private final class TokensByKey<Key: Hashable & Sendable>: @unchecked Sendable {
    // Unchecked: a delivery that makes one call at a time uses it.
    var byKey: [Key: ObservationToken] = [:]
}
#endif
