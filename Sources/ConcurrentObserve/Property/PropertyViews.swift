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

    /// The number of changes so far. A value that is read afterwards has this version or a later
    /// one. (P2)
    @inlinable
    public var version: UInt64 { property.version }

    /// The present value and its version, which belong together. Any thread; never waits.
    @inlinable
    public func snapshot() -> (value: Value, version: UInt64) { property.snapshot() }

    /// The number of observations of the property that have not ended. Ends observations whose
    /// owners have died. (P13)
    ///
    /// - Complexity: O(*n*).
    public var observationCount: Int { property.observationCount }

    /// Begins an observation of the property, as ``Observed/attach(_:)`` does. (P1, P4)
    @inlinable
    public func attach(_ observer: PropertyObserver<Value>) -> ObservationToken { property.attach(observer) }

    /// A function that attaches an observer, but does not retain the property. It returns nil once
    /// the property is gone. (P11)
    @inlinable
    public var weakAttachment: @Sendable (PropertyObserver<Value>) -> ObservationToken? { property.weakAttachment }
}

extension Observed {
    /// A view of the property that can be read and observed, but not set.
    @inlinable
    public var readOnly: ReadOnly<Value> { ReadOnly(self) }
}

// swift-format-ignore: NoLeadingUnderscores
/// A view of a property that leaves out changes to an equal value. `removingDuplicates()` returns
/// such a view, as `some ObservableProperty`.
public struct _RemovingDuplicates<Base: ObservableProperty>: ObservableProperty where Base.Value: Equatable {
    @usableFromInline internal let base: Base

    @inlinable
    internal init(_ base: Base) { self.base = base }

    /// The present value. Any thread; never waits.
    @inlinable
    public var value: Base.Value { base.value }

    /// The property's version. It counts changes to an equal value, too.
    @inlinable
    public var version: UInt64 { base.version }

    /// The present value and its version, which belong together. Any thread; never waits.
    @inlinable
    public func snapshot() -> (value: Base.Value, version: UInt64) { base.snapshot() }

    /// Begins an observation that leaves out changes to an equal value.
    public func attach(_ observer: PropertyObserver<Base.Value>) -> ObservationToken {
        base.attach(observer.pulledBack(isComparing: true, Self.kept))
    }

    /// A function that attaches an observer with the property's `weakAttachment`. The observation
    /// leaves out changes to an equal value.
    public var weakAttachment: @Sendable (PropertyObserver<Base.Value>) -> ObservationToken? {
        let attach = base.weakAttachment
        return { observer in attach(observer.pulledBack(isComparing: true, Self.kept)) }
    }

    /// Returns the change, or nil if its values are equal. The change's old value equals the value
    /// that this observation received last: if changes were dropped before this change, its old
    /// value is the old value of the first dropped change.
    @Sendable
    private static func kept(_ change: Change<Base.Value>) -> Change<Base.Value>? {
        if change.reason == .valueChanged, let old = change.old, old == change.new { return nil }
        return change
    }
}

extension ObservableProperty where Value: Equatable {
    /// Returns a view of the property that leaves out changes to an equal value.
    ///
    /// A change is left out if its new value equals the value that this observation received last.
    /// If `Buffering` has dropped changes, the property had other values since then. `change.old`
    /// always has the value that was received last. (P3)
    ///
    /// The two values of each change are compared with their own `==`, where the observer is
    /// called: under no lock. (P5) The initial delivery and prior deliveries are never left out.
    /// The changes have the property's versions, so the versions have gaps. If `==` ends the
    /// observation, the observer is not called with that change. (P8)
    ///
    /// ```swift
    /// car.speed.removingDuplicates().observe { change in print(change.new) }
    /// ```
    @inlinable
    public func removingDuplicates() -> some ObservableProperty<Value> { _RemovingDuplicates(self) }
}

// swift-format-ignore: NoLeadingUnderscores
/// A property that never changes. The macro `@ConcurrentObservable` makes one for a `let` of a
/// class, so that a derived value can read the `let`.
///
/// An observation receives the value with `.initial`, and goes on until it is cancelled.
public struct _Constant<Value: Sendable>: ObservableProperty {
    /// The value. Any thread; never waits.
    public let value: Value

    /// Makes a property that always has this value.
    @inlinable
    public init(_ value: Value) { self.value = value }

    /// Always 0, because the value never changes.
    public var version: UInt64 { 0 }

    /// Returns the value, with 0 as its version. Any thread; never waits.
    public func snapshot() -> (value: Value, version: UInt64) { (value, 0) }

    /// Begins an observation. It receives the value if it asks for `.initial`, and never a change.
    /// Any thread.
    public func attach(_ observer: PropertyObserver<Value>) -> ObservationToken {
        observer.attach(toConstant: value)
    }
}
