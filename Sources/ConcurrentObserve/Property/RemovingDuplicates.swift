// SPDX-License-Identifier: Apache-2.0

/// A view of a property without its changes to an equal value. `removingDuplicates()` returns it.
public struct RemovingDuplicates<Base: ObservableProperty>: ObservableProperty where Base.Value: Equatable {
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

    /// Attaches such an observer through the property's own `weakAttachment`.
    public var weakAttachment: WeakAttachment<Base.Value> {
        let attach = base.weakAttachment
        return { observer in attach(observer.pulledBack(isComparing: true, Self.kept)) }
    }

    /// Returns the change, or nil if its values are equal. Its old value equals the one that this
    /// observation received last: a change that follows dropped ones has the old value of the first
    /// of them.
    @Sendable
    private static func kept(_ change: Change<Base.Value>) -> Change<Base.Value>? {
        if change.reason == .valueChanged, let old = change.old, old == change.new { return nil }
        return change
    }
}

extension ObservableProperty where Value: Equatable {
    /// Returns a view of the property without its changes to an equal value.
    ///
    /// A change is left out if its new value equals the one that this observation received last. Where `Buffering` drops changes, that is
    /// not the value before the change; `change.old` says what it is. (P3)
    ///
    /// The two values of each change are compared with their own `==`, where the observer is called: under no lock. (P5) The initial
    /// delivery and prior ones come in any case; versions are the property's, and have gaps. If `==` ends the observation, the
    /// observer is not called with that change. (P8)
    ///
    /// ```swift
    /// car.speed.removingDuplicates().observe { change in print(change.new) }
    /// ```
    @inlinable
    public func removingDuplicates() -> RemovingDuplicates<Self> { RemovingDuplicates(self) }
}
