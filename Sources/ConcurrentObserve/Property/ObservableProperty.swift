// SPDX-License-Identifier: Apache-2.0

/// Everything that has a value, numbers its changes, and can be observed.
///
/// `Observed`, `WeakObserved`, ``ReadOnly``, ``Path``, ``Group`` and ``PropertyList`` adopt it. Every form of observing is written
/// once, as an extension of it: code that takes `some ObservableProperty<Int>` works with all of them.
///
/// ```swift
/// func log(_ property: some ObservableProperty<Int>) -> ObservationToken {
///     property.observe { change in print(change.new) }
/// }
/// let tokens = [log(car.mileage), log(car.property(\.engine.rpm))]
/// ```
///
/// A type of yours adopts it by passing `attach` on to a property that it has: a view that shows a model's property under another
/// name, or that adds members.
public protocol ObservableProperty<Value>: Sendable {
    /// What the property holds, and what its changes carry: copied to each observer.
    associatedtype Value: Sendable

    /// The present value. Any thread; never waits.
    var value: Value { get }

    /// The number of changes so far. A read of the value that follows sees this version or a later one. (P2)
    var version: UInt64 { get }

    /// The present value and its version, which belong together. Any thread; never waits.
    func snapshot() -> (value: Value, version: UInt64)

    /// Begins an observation. Any thread, also inside a callback. (P1, P4)
    ///
    /// An implementation of yours passes `observer` to `attach` of one property, once, before it
    /// returns, on this thread or another, and returns the token that it gets there. To show another
    /// value than that property's, observe a `map` or a `Derived` of it. A constant passes the
    /// observer to ``PropertyObserver/attach(toConstant:)``.
    ///
    /// An observer with a mailbox, that of an iterator and that of a member of a group trap if they
    /// are attached twice. A closure that is called inline is then observed twice. The observation
    /// ends as soon as its own token is released, whatever token this returns.
    ///
    /// - Parameter observer: What to call, and how: `observe` and its like have made it.
    /// - Returns: The token that keeps the observation going.
    /// - Precondition: The observer of an iterator is attached before this returns.
    func attach(_ observer: PropertyObserver<Value>) -> ObservationToken

    /// Begins observations for as long as the source lives, which this does not retain: nil once it is gone. (P11)
    ///
    /// A sequence attaches each of its iterators with it. Without an implementation of its own a type is retained.
    var weakAttachment: WeakAttachment<Value> { get }
}

/// Attaches an observer to a source that it does not retain; nil if the source is gone.
public typealias WeakAttachment<Value: Sendable> = @Sendable (PropertyObserver<Value>) -> ObservationToken?

extension ObservableProperty {
    public var weakAttachment: WeakAttachment<Value> { { observer in attach(observer) } }
}
