// SPDX-License-Identifier: Apache-2.0

/// An object whose observed properties can be reached by key paths, over any number of steps.
///
/// A model is a `final class` with its properties in `let`s; the conformance needs nothing else:
///
/// ```swift
/// final class Engine: ConcurrentObservable { let rpm = Observed(0) }
/// final class Car: ConcurrentObservable { let engine = Observed(Engine()) }
/// let token = car.observe(\.engine.rpm) { change in print(change.new) }
/// ```
public protocol ConcurrentObservable: AnyObject, Sendable, _HoldsModels {
    /// The type that has the observed properties: by default the class itself.
    associatedtype Properties: Sendable = Self

    /// The observed properties. The library reads them under no lock, whenever it evaluates the
    /// steps of a path. (P5)
    var observedProperties: Properties { get }
}

extension ConcurrentObservable where Properties == Self {
    /// The object itself: its observed properties are its own `let`s.
    public var observedProperties: Self { self }
}

// swift-format-ignore: NoLeadingUnderscores
/// An optional object that paths may lead through. `Optional` adopts it; no other type needs to.
public protocol _OptionalConcurrentObservable: _HoldsModels {
    /// The type of the object.
    associatedtype Wrapped: ConcurrentObservable

    // swift-format-ignore: NoLeadingUnderscores
    /// The object; nil if there is none.
    var _wrapped: Wrapped? { get }
}

extension Optional: _OptionalConcurrentObservable where Wrapped: ConcurrentObservable {
    // swift-format-ignore: NoLeadingUnderscores
    @_documentation(visibility: internal)
    public var _wrapped: Wrapped? { self }
}

// swift-format-ignore: NoLeadingUnderscores
/// A model, an optional model or an array of models: a derived value can follow it. No other type
/// needs to adopt it.
public protocol _HoldsModels {}

extension Optional: _HoldsModels where Wrapped: ConcurrentObservable {}
extension Array: _HoldsModels where Element: ConcurrentObservable {}

extension ConcurrentObservable {
    /// Not available, because the class does not list its observed properties. See
    /// `ObservationSource`.
    @available(
        *,
        unavailable,
        message:
            "the class has to say what can be observed: adopt 'ObservationSource' and write 'func cancelAllObservations() { ObservationToken.cancelAll(of: name, engine) }' with its properties, or use '@ConcurrentObservable'"
    )
    public func cancelAllObservations() { fatalError("cancelAllObservations() is unavailable") }
}

// MARK: - Observing

extension ConcurrentObservable {
    /// Calls `body` with every change of the property that `path` leads to, also after a step is
    /// replaced. Short for `property(_:)` and `observe`. (P1, P2, P4)
    ///
    /// - Parameters:
    ///   - path: The steps, as in `\.engine.rpm`.
    ///   - options: The events to receive in addition to the changes. `.prior` precedes changes of
    ///     the last property.
    ///   - delivery: Where `body` is called, and how many calls run at a time.
    ///   - body: Called under no lock.
    /// - Returns: The token that keeps the observation going.
    /// - Complexity: O(*n*), with *n* steps. When a step is replaced, O(*m*), with *m* steps after
    ///   it.
    @inlinable
    public func observe<Value: Sendable>(
        _ path: KeyPath<_ObservedPath<Self, Self>, _ObservedPath<Self, Value>>,
        options: ObservationOptions = [],
        delivery: Delivery = .inline,
        _ body: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        property(path).observe(options: options, delivery: delivery, body)
    }
}

// MARK: - Diagnosing

// swift-format-ignore: NoLeadingUnderscores
/// A member that a path names and that cannot be observed: a plain `let`, a computed property, a
/// registry.
///
/// It exists only for the compiler's messages. Without it, the compiler's message about such a path
/// would be only that no subscript matches.
public struct _UnobservedMember<Value> {
    private init() {}
}

extension _ObservedPath where Value: ConcurrentObservable {
    /// Matches a member that cannot be observed, so that the compiler can say so. It is never
    /// called.
    @_disfavoredOverload
    public subscript<Member>(dynamicMember member: KeyPath<Value.Properties, Member>) -> _UnobservedMember<Member> {
        fatalError("ConcurrentObserve: a path ends in a member that is not observed. Declare it as Observed.")
    }
}

extension ConcurrentObservable {
    /// Rejects a path that ends in a member that is not `Observed`, `WeakObserved` or `ReadOnly`.
    @_disfavoredOverload
    @available(
        *,
        unavailable,
        message: "the path ends in a member that is not observed: declare it as Observed, WeakObserved or ReadOnly"
    )
    public func property<Value>(_ path: KeyPath<_ObservedPath<Self, Self>, _UnobservedMember<Value>>) -> Observed<Value>
    {
        fatalError("property(_:) is unavailable")
    }

    /// Rejects a path that ends in a member that is not `Observed`, `WeakObserved` or `ReadOnly`.
    @_disfavoredOverload
    @available(
        *,
        unavailable,
        message: "the path ends in a member that is not observed: declare it as Observed, WeakObserved or ReadOnly"
    )
    public func observe<Value>(
        _ path: KeyPath<_ObservedPath<Self, Self>, _UnobservedMember<Value>>,
        options: ObservationOptions = [],
        delivery: Delivery = .inline,
        _ body: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        fatalError("observe(_:options:delivery:_:) is unavailable")
    }
}
