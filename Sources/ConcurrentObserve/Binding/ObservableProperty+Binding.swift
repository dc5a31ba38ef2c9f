// SPDX-License-Identifier: Apache-2.0

// # Binding: how one property follows another, and how a pair agrees
//
// This room (folder) sets a property to the value that another property has received, on the thread
// that changes the other one. It decides which of two changes that meet prevails, and stops a
// change that returns through a cycle of bindings. It uses Property and Transaction, and the rooms
// below these. P1 to P25 are the promises of the article Contract.
//
// Begin with `OneWayBinding.swift`, then read `Agreement.swift`.
// - `OneWayBinding`: the transform, and the latest version of the source that has arrived.
// - `TwoWayBinding`: weak references to both sides, both transforms, and the agreement.
// - `Agreement`: which version of one side is the same change as which version of the other.
// - `Agreements`: the table of all pairs. A pair has one agreement, however often it is bound.
// - `Propagation`: one step of a change through bindings. The `DeliveryScope` of the change that a
//   binding receives leads to the steps before it.
//
// The life of a one-way binding:
// 1. `bind(to:)` makes it and attaches an inline observer to the source, with the destination as
//    owner. The initial delivery sets the destination before `bind` returns. The binding retains
//    neither side. (P4, P11)
// 2. A change of the source calls `pass` on the thread that made it.
// 3. `DeliveryScope.decision(through:to:)` follows the steps back. `.over`: the binding does not
//    pass the change on, because the destination had it before. `.around`: the change comes back
//    with another value, and may set the destination only if no other change came in between.
//    `.onward`: no such limit.
// 4. The transform runs under no lock. `Observed.receive` calls `publish(_:if:)` (Property), which
//    takes the destination's mutation lock and checks a condition. There `arrive` refuses the
//    change if the binding was cancelled, or if it is not the latest. `arrived` is written only
//    under that lock, so the destination takes values in the order of the source's versions. (P3)
// 5. After the unlock `DeliveryScope.propagate` delivers the change in a scope with the step, and
//    `receive` retires the replaced value.
// 6. The binding ends with its token, its source or its destination. (P10, P12, P13)
//
// In a two-way binding, `start` makes an observer for each side. `Agreements.join` finds or makes
// the agreement, and `deinit` calls `Agreements.leave`. `passForward` and `callbackBackward` drop a
// change that is not `isNews`: most often the echo. The condition is `Agreement.apply`, which
// stores the versions of both sides under its lock, inside the destination's mutation lock. Both
// versions are therefore agreed before an observer receives the change.
//
// Rules of the room:
// - No transform runs under a lock of the library, and a condition runs no user code. (P5)
// - The order of locks: the destination's mutation lock, then an agreement's lock.
//
// The calls to read, in their order: `OneWayBinding.pass`, `DeliveryScope.decision(through:to:)`,
// the transform, `Observed.receive`, `publish(_:if:)`, `arrive`, `DeliveryScope.propagate`,
// `announce`.

extension ObservableProperty {
    /// Makes `destination` follow this property. The destination takes the present value before the
    /// call returns, and then the values of later changes.
    ///
    /// When all calls that set this property have returned, the destination has its last value,
    /// even if threads have overtaken each other. (P3) Values in between may be left out. Setting
    /// the destination is allowed, and lasts until this property changes next.
    ///
    /// The destination is set on the thread that changes this property, before the setter returns.
    /// Any number of threads may use both properties at the same time. A callback of the
    /// destination that blocks delays its own thread only. Setting the destination traps in the
    /// body of a `modify` or a commit, as any change does: do not call this method there. (P5)
    ///
    /// The binding changes the destination once per commit, by itself. (P21)
    ///
    /// The binding retains neither side. (P11) It ends with this property (`.sourceDeleted`), with
    /// the destination (`.ownerDeleted`, noticed like the death of an owner, P13), or with its
    /// token.
    ///
    /// Bindings may form a cycle. A change passes each of them at most once, and does not undo what
    /// another thread has set. With several writers, the properties of a cycle may end up with
    /// different values. If a cycle leads through a group or a list, a change passes a binding at
    /// most twice, and may undo what another thread has set. A change that a callback makes is a
    /// new change, and passes all bindings again. Binding a property to itself does nothing.
    ///
    /// - Parameter destination: The property to set.
    /// - Returns: The token that keeps the binding going.
    @inlinable
    public func bind(to destination: Observed<Value>) -> ObservationToken {
        bind(to: destination, OneWayBinding(keepsValue: true) { $0 })
    }

    /// Makes `destination` follow this property, with values that `transform` makes from this
    /// property's values. Before the call returns, the destination takes the value made from the
    /// present value. Afterwards it takes values made from later changes; values in between may be
    /// left out. When all calls that set this property have returned, the destination has the value
    /// made from the last one. (P3) For threads, the end of the binding, and cycles, see
    /// ``bind(to:)``.
    ///
    /// If a property is bound to itself, the binding corrects its values: each change is followed
    /// by a change to the value that `transform` makes from it.
    ///
    /// - Parameters:
    ///   - destination: The property to set.
    ///   - transform: Makes a value of the destination. Called under no lock, possibly on several
    ///     threads at once. The result is not used if a later change has reached the destination by
    ///     then.
    @inlinable
    public func bind<Other>(
        to destination: Observed<Other>,
        transform: @escaping @Sendable (Value) -> Other
    ) -> ObservationToken {
        bind(to: destination, OneWayBinding(keepsValue: false, transform))
    }

    @inlinable
    internal func bind<Other>(
        to destination: Observed<Other>,
        _ binding: OneWayBinding<Value, Other>
    ) -> ObservationToken {
        let owner = WeakReference(destination)
        return attach(
            PropertyObserver([.initial, .ofBinding], owner: owner, .inline(binding.callback(to: destination, owner)))
        )
    }
}

// MARK: - Both directions

extension Observed {
    /// Keeps this property and `other` alike. The other property takes this property's value before
    /// the call returns. From then on, each follows the other.
    ///
    /// Any threads may set both sides at the same time. When their calls have returned, both sides
    /// have the same value. If changes meet, one of them wins on both sides. A change that begins
    /// after the others have returned always wins. A change causes at most one change on the other
    /// side, and none in return.
    ///
    /// Each side is set on the thread that changes the other one, before the setter returns. A
    /// callback that blocks delays its own thread only. Setting a side traps in the body of a
    /// `modify` or a commit, as any change does: do not call this method there. (P5)
    ///
    /// The binding retains neither side. (P11) It ends with this property (`.sourceDeleted`), with
    /// the other one (`.ownerDeleted`), or with its token, which stands for both directions. It
    /// also ends when the observations of either side are cancelled. Both sides count it until it
    /// ends. (P8) See `bind(to:)` for cycles. Binding a property to itself does nothing.
    ///
    /// The two properties may be bound again, from either side. They stay one pair until the last
    /// of these bindings ends: both sides are alike when the setters have returned. If the bindings
    /// have different transforms, any of these transforms may make the value of a side.
    ///
    /// - Returns: The token that keeps the binding going.
    @inlinable
    public func bindBidirectionally(with other: Observed<Value>) -> ObservationToken {
        TwoWayBinding(self, other, keepsValue: true, forward: { $0 }, backward: { $0 }).start(self, other)
    }

    /// Keeps this property and `other` in step, with values that are made from each other. Before
    /// the call returns, the other property takes the value that `forward` makes from this
    /// property's value. From then on, each follows the other. Everything else is as for
    /// ``bindBidirectionally(with:)``.
    ///
    /// - Parameters:
    ///   - other: The other side.
    ///   - forward: Makes the other side's value from this side's. Called under no lock, possibly
    ///     on several threads at once.
    ///   - backward: Makes this side's value from the other side's. It should be the reverse of
    ///     `forward`. Otherwise the value that was set on one side may differ from the value that
    ///     the other side would make for it.
    @inlinable
    public func bindBidirectionally<Other>(
        with other: Observed<Other>,
        forward: @escaping @Sendable (Value) -> Other,
        backward: @escaping @Sendable (Other) -> Value
    ) -> ObservationToken {
        TwoWayBinding(self, other, keepsValue: false, forward: forward, backward: backward).start(self, other)
    }
}
