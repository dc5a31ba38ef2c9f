// SPDX-License-Identifier: Apache-2.0

extension PropertyObserver {
    /// Makes an observer that calls a closure as `delivery` says.
    @inlinable
    internal init(
        _ options: ObservationOptions,
        _ delivery: Delivery,
        owner: WeakReference? = nil,
        _ form: CallbackForm<Change<Value>>
    ) {
        let options = ObserverOptions(options)
        if delivery.isInline {
            self.init(options, owner: owner, .inline(form))
        } else {
            let owner = owner ?? delivery.owner
            self.init(options, owner: owner, .mailbox(OrderedFactory(delivery, owner: owner, form)))
        }
    }
}

extension ObservableProperty {
    /// Calls `body` with every change that begins after this call returned. (P1, P2, P4)
    ///
    /// Every version after the one at the registration is delivered, once. By default that is
    /// inline: on the thread that makes the change, after the change, possibly on several threads
    /// at once. `delivery` names another place, where the calls come one at a time and in the order
    /// of the versions. Then `ObservationToken.deliveryCounts` reports how many changes were
    /// dropped.
    ///
    /// With `.initial`, inline, `body` is also called on this thread, before the call returns. A
    /// change that races with it may arrive first, on its own thread, with its higher version. With
    /// any other delivery, the present value is the first that `body` receives.
    ///
    /// When the property's source is gone, the observation ends, and ``ObservationToken/onEnd(_:)``
    /// receives `.sourceDeleted`. (P12) The property is not retained. (P11) Traps in the body of
    /// the property's own `modify`, or of a commit that includes the property. (P5)
    ///
    /// - Parameters:
    ///   - options: The events to receive in addition to the changes.
    ///   - delivery: Where `body` is called, and how many calls run at a time.
    ///   - body: Called under no lock. It may observe, change, cancel and block; blocking delays
    ///     its own thread only. (P6, P7)
    /// - Returns: The token that keeps the observation going.
    /// - Complexity: O(1) amortised; for a path O(*n*), with *n* steps.
    @inlinable
    public func observe(
        options: ObservationOptions = [],
        delivery: Delivery = .inline,
        _ body: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        attach(PropertyObserver(options, delivery, .plain(body)))
    }

    /// Calls `body` with every change that begins after this call returned, and with the
    /// observation itself. The closure can end the observation, even in the initial delivery. (P1,
    /// P2, P4)
    ///
    /// Everything else is as for ``observe(options:delivery:_:)`` with a closure of one parameter.
    ///
    /// - Parameters:
    ///   - options: The events to receive in addition to the changes.
    ///   - delivery: Where `body` is called, and how many calls run at a time.
    ///   - body: Called under no lock, with the change and the observation.
    /// - Returns: The token that keeps the observation going.
    @inlinable
    public func observe(
        options: ObservationOptions = [],
        delivery: Delivery = .inline,
        _ body: @escaping @Sendable (Change<Value>, ObservationHandle) -> Void
    ) -> ObservationToken {
        attach(PropertyObserver(options, delivery, .withHandle(body)))
    }

    /// Calls `body` with `owner` and every change that begins after this call returned, as long as
    /// the owner lives. (P1, P2, P4, P13)
    ///
    /// The owner is not retained. Once its `deinit` has begun, `body` is not called any more. The
    /// observation ends with `.ownerDeleted` at the next change, `observationCount`, `isActive` or
    /// `drain`, or when enough other observers were registered.
    ///
    /// - Parameters:
    ///   - owner: The object with which the observation ends; `body` receives it.
    ///   - options: The events to receive in addition to the changes.
    ///   - delivery: Where `body` is called, and how many calls run at a time.
    ///   - body: Called under no lock, with the owner and the change.
    /// - Returns: The token that keeps the observation going.
    @inlinable
    public func observe<Owner: AnyObject & Sendable>(
        owner: Owner,
        options: ObservationOptions = [],
        delivery: Delivery = .inline,
        _ body: @escaping @Sendable (Owner, Change<Value>) -> Void
    ) -> ObservationToken {
        let reference = WeakReference(owner)
        return attach(PropertyObserver(options, delivery, owner: reference, .bound(to: reference, body)))
    }

    /// Calls `body` on `target`, isolated to it, with every change that begins after this call
    /// returned: one at a time, in the order of the versions. (P1, P2, P4)
    ///
    /// Keep the actor as well as the token: the observation does not retain the actor. When the
    /// actor is released, the observation ends with `.ownerDeleted`, at the next change. (P11)
    ///
    /// A thread that makes a change puts it into the observer's mailbox and continues. With
    /// `.initial`, the present value is the first that `body` receives. `token.cancel()` on the
    /// actor silences the observation at once. (P8)
    ///
    /// - Parameters:
    ///   - target: Any actor. For state of the main actor, use `observeIsolated` with a
    ///     `@MainActor` closure.
    ///   - options: The events to receive in addition to the changes.
    ///   - buffering: Which changes are kept while the actor is busy.
    ///   - body: Called under no lock. It must not block until its own actor does something.
    /// - Returns: The token that keeps the observation going.
    @inlinable
    public func observe<Target: Actor>(
        on target: Target,
        options: ObservationOptions = [],
        buffering: Buffering = .unbounded,
        _ body: @escaping @Sendable (isolated Target, Change<Value>) -> Void
    ) -> ObservationToken {
        let delivery = Delivery(.isolated(DeliveryIsolation(to: target)), buffering)
        return attach(PropertyObserver(options, delivery, .isolated(to: target, body)))
    }

    /// Calls `body`, on the actor to which it belongs, with every change that begins after this
    /// call returned: one at a time, in the order of the versions. (P1, P2, P4)
    ///
    /// Keep the actor as well as the token: the observation does not retain the actor, unless the
    /// closure captures it. When the actor is released, the observation ends with `.ownerDeleted`,
    /// at the next change. (P11) The main actor is never released.
    ///
    /// The actor is the one that the closure names, as in `{ @MainActor change in … }`, or else the
    /// one in whose code this call is written: closures and method references of an actor, or of a
    /// `@MainActor` type, run there. A thread that makes a change puts it into the observer's
    /// mailbox and continues.
    ///
    /// - Parameters:
    ///   - options: The events to receive in addition to the changes.
    ///   - buffering: Which changes are kept while the actor is busy.
    ///   - isolation: The caller's actor. Leave it out.
    ///   - body: Called under no lock. It must not block until its own actor does something.
    /// - Returns: The token that keeps the observation going.
    /// - Precondition: The closure names an actor, or the caller is on one.
    @inlinable
    public func observeIsolated(
        options: ObservationOptions = [],
        buffering: Buffering = .unbounded,
        isolation: (any Actor)? = #isolation,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        let delivery = Delivery(.isolated(.of(body.isolation, context: isolation)), buffering)
        return attach(PropertyObserver(options, delivery, .plain(withoutIsolation(body))))
    }

    /// Calls `body` with the new value of every change that begins after this call returned. (P1,
    /// P2, P4)
    ///
    /// - Parameters:
    ///   - options: With `.initial`, the first call receives the present value. `.prior` has no
    ///     effect, because `body` receives only new values.
    ///   - delivery: Where `body` is called, and how many calls run at a time.
    ///   - body: Called under no lock. It is not called when the property is gone: see
    ///     ``ObservationToken/onEnd(_:)``.
    /// - Returns: The token that keeps the observation going.
    @inlinable
    public func observeValues(
        options: ObservationOptions = [],
        delivery: Delivery = .inline,
        _ body: @escaping @Sendable (Value) -> Void
    ) -> ObservationToken {
        observe(options: options.intersection(.initial), delivery: delivery) { change in body(change.new) }
    }
}

/// Makes the mailbox for a closure that is not called inline.
@usableFromInline
internal final class OrderedFactory<Value: Sendable>: ChangeReceiverFactory<Value>, @unchecked Sendable {
    // Unchecked: constants only.
    @usableFromInline let delivery: Delivery
    @usableFromInline let owner: WeakReference?
    @usableFromInline let form: CallbackForm<Change<Value>>

    /// Makes a factory for an observation that calls the closure of `form` as `delivery` says.
    ///
    /// - Parameter isComparing: Whether the values of a change are compared before the closure is
    ///   called, as with `removingDuplicates()`.
    @inlinable
    init(
        of original: AttachmentClaim? = nil,
        _ delivery: Delivery,
        owner: WeakReference?,
        isComparing: Bool = false,
        _ form: CallbackForm<Change<Value>>
    ) {
        (self.delivery, self.owner, self.form) = (delivery, owner, form)
        super.init(of: original, mayDrop: delivery.buffering.capacity != nil) {
            delivery.makeObservation(owner: owner, form, .ofChanges(areCompared: isComparing)).receiver()
        }
    }

    @usableFromInline
    override func pulledBack<Other: Sendable>(
        isComparing: Bool,
        _ transform: @escaping @Sendable (Change<Other>) -> Change<Value>?
    ) -> ChangeReceiverFactory<Other> {
        OrderedFactory<Other>(of: claimed, delivery, owner: owner, isComparing: isComparing, form.pulledBack(transform))
    }
}
