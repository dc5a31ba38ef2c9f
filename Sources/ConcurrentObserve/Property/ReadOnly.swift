// SPDX-License-Identifier: Apache-2.0

/// A property that can be read and observed, and not set: what a model shows of a property that only the model itself may change.
///
/// ```swift
/// final class Car: Sendable {
///     private let measuredSpeed = Observed(0.0)
///     var speed: ReadOnly<Double> { measuredSpeed.readOnly }
/// }
/// let token = car.speed.observe { change in print(change.new) }
/// ```
///
/// It retains the property. Two views of one property are alike in everything.
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

    /// How many observations of the property are going on. Notices owners that have died. (P13)
    ///
    /// - Complexity: O(*n*).
    public var observationCount: Int { property.observationCount }

    /// Begins an observation of the property.
    @inlinable
    public func attach(_ observer: PropertyObserver<Value>) -> ObservationToken { property.attach(observer) }

    /// Begins observations for as long as the property lives.
    @inlinable
    public var weakAttachment: WeakAttachment<Value> { property.weakAttachment }
}

extension Observed {
    /// The property for those who may read and observe it, and not set it.
    @inlinable
    public var readOnly: ReadOnly<Value> { ReadOnly(self) }
}
