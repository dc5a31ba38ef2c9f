// SPDX-License-Identifier: Apache-2.0

/// The way from an object to a derived value that a model has: what a key path such as `\.engine.healthy` is evaluated on.
public struct DerivedMember<Root: ConcurrentObservable, Value: Sendable>: Sendable {
    /// The derived value.
    @usableFromInline internal let find: @Sendable (Root) -> Derived<Value>

    @usableFromInline
    internal init(_ find: @escaping @Sendable (Root) -> Derived<Value>) { self.find = find }
}

extension ObservedPath where Value: ConcurrentObservable {
    /// The way to a derived value of the object that this path leads to.
    @inlinable
    public subscript<Next: Sendable>(
        dynamicMember member: any KeyPath<Value.Properties, Derived<Next>> & Sendable
    ) -> DerivedMember<Root, Next> {
        guard last != nil else {
            return DerivedMember { ($0 as! Value).observedProperties[keyPath: member] }
        }
        return DerivedMember { [self] root in
            Derived(at: Path(root, self)) { collector, model in
                collector.read(model.observedProperties[keyPath: member])
            }
        }
    }
}

extension ObservedPath where Value: OptionalConcurrentObservable {
    /// The way to a derived value of the object that this path leads to, or to nil.
    @inlinable
    public subscript<Next: Sendable>(
        dynamicMember member: any KeyPath<Value.Wrapped.Properties, Derived<Next>> & Sendable
    ) -> DerivedMember<Root, Next?> {
        DerivedMember { [self] root in
            Derived(at: Path(root, self)) { collector, model in
                guard let present = model.wrapped else { return nil }
                return collector.read(present.observedProperties[keyPath: member])
            }
        }
    }
}

extension Derived {
    /// A derived value of a model that a path leads to.
    ///
    /// - Parameter read: Reads what it needs of the model.
    @inlinable
    internal convenience init<Root, Model>(
        at path: Path<Root, Model>,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ read: @escaping @Sendable (Collector, Model) -> Value
    ) {
        self.init(fileID, line, namesSources: true) { collector in
            if collector.outcome.isWeakening {
                return collector.weaken(only: path, run: { $0.finish(read($0, $0.read($1))) })
            }
            collector.finish(read(collector, collector.read(path)))
        }
    }
}

extension ConcurrentObservable {
    /// The derived value that `path` leads to, wherever it leads.
    ///
    /// ```swift
    /// let healthy = car.property(\.healthy)
    /// let engineHealthy = car.property(\.engine.healthy)
    /// ```
    ///
    /// A path of one step is the model's own derived value. One of several steps is a derived value of its own, which follows
    /// every replacement on the way, and retains this object. (P22, P23)
    ///
    /// - Parameter path: The steps, as in `\.engine.healthy`.
    @inlinable
    public func property<Value: Sendable>(
        _ path: KeyPath<ObservedPath<Self, Self>, DerivedMember<Self, Value>>
    ) -> Derived<Value> {
        ObservedPath<Self, Self>.root[keyPath: path].find(self)
    }

    /// Calls `body` with every change of the derived value that `path` leads to, wherever it leads: short for `property(_:)` and
    /// `observe`. (P1, P2, P4, P24)
    ///
    /// - Parameters:
    ///   - path: The steps, as in `\.engine.healthy`.
    ///   - options: What to receive beside the changes. `.prior` is not delivered.
    ///   - delivery: Where `body` is called, and how many calls run at a time.
    ///   - body: Called under no lock.
    /// - Returns: The token that keeps the observation going.
    /// - Complexity: O(roots).
    @inlinable
    public func observe<Value: Sendable>(
        _ path: KeyPath<ObservedPath<Self, Self>, DerivedMember<Self, Value>>,
        options: ObservationOptions = [],
        delivery: Delivery = .inline,
        _ body: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        property(path).observe(options: options, delivery: delivery, body)
    }
}
