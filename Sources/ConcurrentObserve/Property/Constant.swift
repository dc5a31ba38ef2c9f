// SPDX-License-Identifier: Apache-2.0

/// A property that never changes. The function of a derived value can read it from a model that it
/// follows.
///
/// ```swift
/// final class Engine: ConcurrentObservable {
///     let number = Constant(17)
///     let rpm = Observed(0)
/// }
/// let label = Derived { get in "\(get.follow(car.engine).number): \(get.follow(car.engine).rpm)" }
/// ```
///
/// The macro `@ConcurrentObservable` makes one for each `let` that is not private, and whose type
/// is written or whose value is a literal: `observedProperties.number`. The `let` itself stays as
/// it is.
///
/// An observation receives the value with `.initial`, and goes on until it is cancelled.
public struct Constant<Value: Sendable>: ObservableProperty {
    /// The value. Any thread; never waits.
    public let value: Value

    /// A property that always has this value.
    @inlinable
    public init(_ value: Value) { self.value = value }

    /// 0, since the value never changes.
    public var version: UInt64 { 0 }

    /// The value, and the version 0. Any thread; never waits.
    public func snapshot() -> (value: Value, version: UInt64) { (value, 0) }

    /// Begins an observation, which receives no change. Any thread.
    public func attach(_ observer: PropertyObserver<Value>) -> ObservationToken {
        observer.attach(toConstant: value)
    }
}
