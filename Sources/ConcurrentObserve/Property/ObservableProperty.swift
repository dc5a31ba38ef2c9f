// SPDX-License-Identifier: Apache-2.0

/// A value that numbers its changes and can be observed.
///
/// `Observed`, `WeakObserved`, `Derived`, ``ReadOnly``, ``Path``, ``Group`` and ``PropertyList``
/// adopt it. Every form of observing is an extension of this protocol, so code that takes `some
/// ObservableProperty<Int>` works with all these types.
///
/// ```swift
/// func log(_ property: some ObservableProperty<Int>) -> ObservationToken {
///     property.observe { change in print(change.new) }
/// }
/// let tokens = [log(car.mileage), log(car.property(\.engine.rpm))]
/// ```
///
/// A type of yours can adopt it, too: its `attach` passes the observer on to a property that the
/// type has. An example is a view that shows a model's property under another name, or that adds
/// members.
public protocol ObservableProperty<Value>: Sendable {
    /// The type of the value. Each observer receives a copy.
    associatedtype Value: Sendable

    /// The present value. Any thread; never waits.
    var value: Value { get }

    /// The number of changes so far. A value that is read afterwards has this version or a later
    /// one. (P2)
    var version: UInt64 { get }

    /// The present value and its version, which belong together. Any thread; never waits.
    func snapshot() -> (value: Value, version: UInt64)

    /// Begins an observation. Any thread, also inside a callback. (P1, P4)
    ///
    /// Your implementation passes `observer` to `attach` of one property, once, before it returns.
    /// It may do this on another thread. It returns the token that this property's `attach`
    /// returns. If your type shows another value than the property has, pass the observer to a
    /// `map` or a `Derived` of the property. A constant passes the observer to
    /// ``PropertyObserver/attach(toConstant:)``.
    ///
    /// Attaching an observer twice traps if it has a mailbox, or if it belongs to an iterator or to
    /// a member of a group. In other cases the observer's closure is attached twice, and called
    /// twice for each change. An observation ends when the token that the property's `attach`
    /// returned is released, even if your method returns another token.
    ///
    /// - Parameter observer: The observer that `observe`, or a method like it, has made.
    /// - Returns: The token that keeps the observation going.
    /// - Precondition: The observer of an iterator is attached before this returns.
    func attach(_ observer: PropertyObserver<Value>) -> ObservationToken

    /// A function that attaches an observer, but does not retain the property. It returns nil once
    /// the property is gone. (P11)
    ///
    /// A sequence attaches each of its iterators with this function. The default implementation
    /// retains the property.
    var weakAttachment: @Sendable (PropertyObserver<Value>) -> ObservationToken? { get }
}

extension ObservableProperty {
    public var weakAttachment: @Sendable (PropertyObserver<Value>) -> ObservationToken? {
        { observer in attach(observer) }
    }
}
