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
public protocol ConcurrentObservable: AnyObject, Sendable, HoldsModels {
    /// The type that has the observed properties: the class itself, unless it says otherwise.
    associatedtype Properties: Sendable = Self

    /// The observed properties. Called under no lock, whenever the steps of a path are evaluated.
    /// (P5)
    var observedProperties: Properties { get }
}

extension ConcurrentObservable where Properties == Self {
    /// The object itself: its properties stand in its own `let`s.
    public var observedProperties: Self { self }
}

/// An optional object that paths may go through. `Optional` adopts it; nothing else needs to.
public protocol OptionalConcurrentObservable: HoldsModels {
    /// The type of the object.
    associatedtype Wrapped: ConcurrentObservable

    /// The object, if there is one.
    var wrapped: Wrapped? { get }
}

extension Optional: OptionalConcurrentObservable where Wrapped: ConcurrentObservable {
    public var wrapped: Wrapped? { self }
}

/// A model, an optional model or an array of models: a derived value can follow it. No other type
/// needs to adopt it.
public protocol HoldsModels {}

extension Optional: HoldsModels where Wrapped: ConcurrentObservable {}
extension Array: HoldsModels where Element: ConcurrentObservable {}

extension ConcurrentObservable {
    /// Unavailable unless the class says what can be observed: see `ObservationSource`.
    @available(
        *,
        unavailable,
        message:
            "the class has to say what can be observed: adopt 'ObservationSource' and write 'func cancelAllObservations() { ObservationToken.cancelAll(of: name, engine) }' with its properties, or use '@ConcurrentObservable'"
    )
    public func cancelAllObservations() { fatalError("cancelAllObservations() is unavailable") }
}
