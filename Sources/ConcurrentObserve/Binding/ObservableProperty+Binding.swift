// SPDX-License-Identifier: Apache-2.0

extension ObservableProperty {
    /// Makes `destination` follow this property: it takes the value at once, before the call returns, and every later one.
    ///
    /// When those who set this property have returned, the destination has its last value, whatever overtook what on the way (P3);
    /// values in between may be left out. Setting the destination is allowed, and lasts until this property changes next.
    ///
    /// The destination is set on the thread that changes this property, before the setter returns; both may be used by any number of
    /// threads meanwhile. A callback of the destination that blocks delays its own thread only. As any change does, this one traps in
    /// the body of the destination's own `modify`: do not call this, or set this property, there. (P5)
    ///
    /// What bindings make of the changes of one commit is one commit. (P21)
    ///
    /// Neither side is retained (P11). The binding ends with this property (`.sourceDeleted`), or with the destination
    /// (`.ownerDeleted`, noticed as an owner's death is, P13), or with its token. Bindings may form a cycle: a change passes each of them at most once, and
    /// does not undo what others have set meanwhile; but with several writers the properties of a cycle may end up with
    /// different values. Where a cycle leads through a group or a list, a change passes a binding twice at most, and may undo what
    /// another thread has set meanwhile. A change that a callback makes is
    /// a new one, and passes all bindings again. To bind a property to itself does nothing.
    ///
    /// - Parameter destination: What is set.
    /// - Returns: The token that keeps the binding going.
    @inlinable
    public func bind(to destination: Observed<Value>) -> ObservationToken {
        bind(to: destination, OneWayBinding(keepsValue: true) { $0 })
    }

    /// Makes `destination` follow this property, with values made by `transform`: it takes the one made of the present value at once, before
    /// the call returns, and one for every later change. Everything else is as for ``bind(to:)``.
    ///
    /// A property that is bound to itself corrects its values: each change is followed by one to what `transform` makes of it.
    ///
    /// - Parameters:
    ///   - destination: What is set.
    ///   - transform: Called as callbacks are: under no lock, on several threads at once. Its result is not used if a later
    ///     change has arrived before it.
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
    /// Keeps this property and `other` alike: the other one takes this one's value at once, before the call returns; from then on each
    /// follows the other.
    ///
    /// Any threads may set both sides at the same time: when their calls have returned, both sides have one and the same value. Of changes
    /// that meet, one prevails on both sides; a change that begins after the others have returned always does. A change makes at
    /// most one on the other side, and none in return.
    ///
    /// Each side is set on the thread that changes the other one, before the setter returns; a callback that blocks delays its own
    /// thread only. As any change does, this traps in the body of a property's own `modify`: do not set one side in
    /// the body of a `modify` of the other. (P5)
    ///
    /// Neither side is retained (P11). The binding ends with this property (`.sourceDeleted`), with the other one (`.ownerDeleted`), or with its
    /// token, which speaks for both directions. It also ends when the observations of either side are cancelled. Both sides count
    /// it until it ends. (P8) For cycles see `bind(to:)`. To bind a property to itself does nothing.
    ///
    /// The two may be bound again, from either side: they stay one pair, which is alike when the
    /// setters have returned, until the last of the tokens ends. Of transforms that differ, either
    /// one may make a value.
    ///
    /// - Returns: The token that keeps the binding going.
    @inlinable
    public func bindBidirectionally(with other: Observed<Value>) -> ObservationToken {
        TwoWayBinding(self, other, keepsValue: true, forward: { $0 }, backward: { $0 }).start(self, other)
    }

    /// Keeps this property and `other` alike, where their values are made of each other: the other one takes what `forward` makes of this one's
    /// value at once, before the call returns; from then on each follows the other. Everything else is as for
    /// ``bindBidirectionally(with:)``.
    ///
    /// - Parameters:
    ///   - other: The other side.
    ///   - forward: Makes the other side's value of this side's. Called as callbacks are: under no lock, on several threads at once.
    ///   - backward: Makes this side's value of the other side's; the reverse of `forward`, or what was set on one side may differ
    ///     from what the other side would make of it.
    @inlinable
    public func bindBidirectionally<Other>(
        with other: Observed<Other>,
        forward: @escaping @Sendable (Value) -> Other,
        backward: @escaping @Sendable (Other) -> Value
    ) -> ObservationToken {
        TwoWayBinding(self, other, keepsValue: false, forward: forward, backward: backward).start(self, other)
    }
}
