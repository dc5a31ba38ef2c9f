// SPDX-License-Identifier: Apache-2.0

#if Collections
public import ConcurrentObserve

extension ObservableProperty {
    /// Calls `body` for each change, with the difference between the two values and with the
    /// change.
    ///
    /// If a delivery's policy drops changes, the next difference also contains the dropped ones.
    /// Therefore, with `.latest`, a slow observer receives one difference for everything that it
    /// has missed, and no key is lost. With `droppingNewest`, however, dropped changes may be lost.
    ///
    /// - Parameters:
    ///   - options: With `.initial`, the first difference inserts every present key.
    ///   - delivery: The place where `body` is called, and the number of calls that may run at a
    ///     time.
    ///   - body: Called under no lock.
    /// - Returns: The token that keeps the observation going.
    /// - Complexity: O(*d* log *n*) for each call, for *d* changed keys.
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

    /// Observes every value of the dictionary, for as long as the value belongs to its key. This
    /// includes values that are assigned later. Use it for values that are models.
    ///
    /// ```swift
    /// let token = cars.contents.observeEach { key, car in
    ///     car.mileage.observe { change in print(key, change.new) }
    /// }
    /// ```
    ///
    /// When a key is removed or assigned, the token for its previous value is released. When this
    /// observation has ended, the observations of all values have ended, too. After
    /// `cancelAndWait()` has returned, none of them runs. (P9, P10)
    ///
    /// - Parameter observe: Begins an observation of a value, and returns its token. Called once
    ///   for each assignment, one call at a time and under no lock, on threads that change the
    ///   dictionary. For the present values, it is called before this method returns.
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
                // The earlier observation ends before the next one begins: no change reaches both.
                tokens.byKey[key] = nil
                tokens.byKey[key] = observe(key, value)
            }
        }
    }
}

/// The tokens of `observeEach`.
private final class TokensByKey<Key: Hashable & Sendable>: @unchecked Sendable {
    // Unchecked: only a delivery uses the variable, and it makes one call at a time.
    var byKey: [Key: ObservationToken] = [:]
}
#endif
