// SPDX-License-Identifier: Apache-2.0

import Synchronization

// swift-format-ignore: NoLeadingUnderscores
/// The value of a key path such as `\.engine.healthy`, which leads from an object to a derived
/// value of a model.
public struct _DerivedMember<Root: ConcurrentObservable, Value: Sendable>: Sendable {
    /// Follows the key path from a root object. Returns the derived value at its end.
    @usableFromInline internal let find: @Sendable (Root) -> Derived<Value>

    @usableFromInline
    internal init(_ find: @escaping @Sendable (Root) -> Derived<Value>) { self.find = find }
}

extension _ObservedPath where Value: ConcurrentObservable {
    /// The path to a derived value of the object that this path leads to.
    @inlinable
    public subscript<Next: Sendable>(
        dynamicMember member: any KeyPath<Value.Properties, Derived<Next>> & Sendable
    ) -> _DerivedMember<Root, Next> {
        guard last != nil else {
            return _DerivedMember { ($0 as! Value).observedProperties[keyPath: member] }
        }
        return _DerivedMember { [self] root in
            Derived(at: Path(root, self)) { collector, model in
                collector.read(model.observedProperties[keyPath: member])
            }
        }
    }
}

extension _ObservedPath where Value: _OptionalConcurrentObservable {
    /// The path to a derived value of the object that this path leads to. Its value is nil if there
    /// is no object.
    @inlinable
    public subscript<Next: Sendable>(
        dynamicMember member: any KeyPath<Value.Wrapped.Properties, Derived<Next>> & Sendable
    ) -> _DerivedMember<Root, Next?> {
        _DerivedMember { [self] root in
            Derived(at: Path(root, self)) { collector, model in
                guard let present = model._wrapped else { return nil }
                return collector.read(present.observedProperties[keyPath: member])
            }
        }
    }
}

extension Derived {
    /// Makes a derived value from a model that a path leads to.
    ///
    /// - Parameter read: Computes the value from the model, and reads the model's properties with
    ///   the collector.
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
    /// Returns the derived value that `path` leads to.
    ///
    /// ```swift
    /// let healthy = car.property(\.healthy)
    /// let engineHealthy = car.property(\.engine.healthy)
    /// ```
    ///
    /// A path of one step leads to the model's own derived value. If the path has several steps,
    /// the method makes a derived value that follows every replacement on the path, and retains
    /// this object. (P22, P23)
    ///
    /// - Parameter path: The steps, as in `\.engine.healthy`.
    @inlinable
    public func property<Value: Sendable>(
        _ path: KeyPath<_ObservedPath<Self, Self>, _DerivedMember<Self, Value>>
    ) -> Derived<Value> {
        _ObservedPath<Self, Self>.root[keyPath: path].find(self)
    }

    /// Calls `body` with every change of the derived value that `path` leads to. Short for
    /// `property(_:)` and `observe`. (P1, P2, P4, P24)
    ///
    /// - Parameters:
    ///   - path: The steps, as in `\.engine.healthy`.
    ///   - options: The deliveries to receive besides the changes. `.prior` is not delivered.
    ///   - delivery: Where `body` is called, and how many calls run at a time.
    ///   - body: Called under no lock.
    /// - Returns: The token that keeps the observation going.
    /// - Complexity: O(roots).
    @inlinable
    public func observe<Value: Sendable>(
        _ path: KeyPath<_ObservedPath<Self, Self>, _DerivedMember<Self, Value>>,
        options: ObservationOptions = [],
        delivery: Delivery = .inline,
        _ body: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        property(path).observe(options: options, delivery: delivery, body)
    }
}

// MARK: - Keeping

extension Derived {
    /// Makes this derived value a part of the model that keeps it, and returns it. Its observations
    /// do not keep it alive. They end with the model, so the model itself may keep their tokens.
    /// (P11, P12)
    ///
    /// ```swift
    /// final class Car: ConcurrentObservable {
    ///     let rpm = Observed(800)
    ///     let stalled = Observed(false)
    ///     let healthy: Derived<Bool>
    ///
    ///     init() { healthy = Derived(rpm, stalled) { $0 < 6_000 && !$1 }.ofModel() }
    /// }
    /// ```
    ///
    /// Call it before the first observation. Name the properties in the function, and not the
    /// model: a function that captures the model keeps it alive.
    public func ofModel() -> Derived {
        isOfModel = true
        return self
    }
}

// swift-format-ignore: NoLeadingUnderscores
/// Stores the derived value of a variable with `@ConcurrentDerived`. The derived value is made when
/// it is first needed. The function names properties of the model, so the model must exist by then.
/// The macro uses this type.
public struct _DerivedStorage<Value: Sendable>: ~Copyable, Sendable {
    private let reference = AtomicLazyReference<Derived<Value>>()

    /// Makes a storage without a derived value.
    public init() {}

    /// Returns the derived value, and makes it if there is none. Any thread; never waits. If two
    /// threads call it first at the same time, both may call `make`, and both receive the same
    /// derived value.
    ///
    /// - Parameter make: Makes the derived value. Called under no lock, on the calling thread.
    public borrowing func derived(_ make: () -> Derived<Value>) -> Derived<Value> {
        reference.load() ?? reference.storeIfNil(make().ofModel())
    }

    /// Ends every observation of the derived value, as if each was cancelled. Any thread; never
    /// waits. (P8)
    public borrowing func cancelAllObservations() { reference.load()?.cancelAllObservations() }
}
