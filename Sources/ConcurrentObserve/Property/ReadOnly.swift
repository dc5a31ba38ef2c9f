// SPDX-License-Identifier: Apache-2.0

/// A view of a property that can be read and observed, but not set. A model shows it for a property
/// that only the model itself may change.
///
/// ```swift
/// final class Car: Sendable {
///     private let measuredSpeed = Observed(0.0)
///     var speed: ReadOnly<Double> { measuredSpeed.readOnly }
/// }
/// let token = car.speed.observe { change in print(change.new) }
/// ```
///
/// It retains the property. All views of one property behave alike.
public struct ReadOnly<Value: Sendable>: ObservableProperty {
    @usableFromInline internal let property: Observed<Value>

    @inlinable
    internal init(_ property: Observed<Value>) { self.property = property }

    /// The present value. Any thread; never waits.
    ///
    /// - Complexity: O(1).
    @inlinable
    public var value: Value { property.value }

    /// The number of changes so far. A read that follows sees this version or a later one. (P2)
    @inlinable
    public var version: UInt64 { property.version }

    /// The present value and its version, which belong together. Any thread; never waits.
    @inlinable
    public func snapshot() -> (value: Value, version: UInt64) { property.snapshot() }

    /// The number of observations of the property that are going on. Ends those whose owners have
    /// died. (P13)
    ///
    /// - Complexity: O(*n*).
    public var observationCount: Int { property.observationCount }

    /// Begins an observation of the property.
    @inlinable
    public func attach(_ observer: PropertyObserver<Value>) -> ObservationToken { property.attach(observer) }

    /// Attaches an observer without retaining the property; nil once the property is gone.
    @inlinable
    public var weakAttachment: WeakAttachment<Value> { property.weakAttachment }
}

extension Observed {
    /// A view of the property that can be read and observed, but not set.
    @inlinable
    public var readOnly: ReadOnly<Value> { ReadOnly(self) }
}
