// SPDX-License-Identifier: Apache-2.0

extension ObserverRegistry {
    /// Calls `body` with every event whose notification begins after this call returned. (P1)
    ///
    /// Any thread, also inside a callback. By default `body` is called inline: on the notifying
    /// threads, possibly on several at once. `delivery` names another place, where the calls come
    /// one at a time and in the order of arrival. If the same closure is registered twice, it is
    /// called twice for each event.
    ///
    /// - Parameters:
    ///   - delivery: Where `body` is called, and how many calls run at a time.
    ///   - body: Called under no lock. It may observe, change, cancel and block; blocking delays
    ///     its own thread only. (P6, P7)
    /// - Returns: The token that keeps the observation going.
    /// - Complexity: O(1) amortised.
    @inlinable
    public func observe(
        delivery: Delivery = .inline,
        _ body: consuming @escaping @Sendable (Event) -> Void
    ) -> ObservationToken {
        guard delivery.isInline else { return attach(delivery, .plain(body)) }
        let observer = observers.makeObserverToRegister()
        observer.setCallback(Callback(body))
        return start(observer)
    }

    /// Calls `body` with every event whose notification begins after this call returned, and with
    /// the observation itself, which the closure can end. (P1)
    ///
    /// - Parameters:
    ///   - delivery: Where `body` is called, and how many calls run at a time.
    ///   - body: Called under no lock, with the event and the observation.
    /// - Returns: The token that keeps the observation going.
    /// - Complexity: O(1) amortised.
    @inlinable
    public func observe(
        delivery: Delivery = .inline,
        _ body: @escaping @Sendable (Event, ObservationHandle) -> Void
    ) -> ObservationToken {
        attach(delivery, .withHandle(body))
    }

    /// Calls `body` with `owner` and every event whose notification begins after this call
    /// returned, as long as the owner lives. (P1, P13)
    ///
    /// The owner is not retained. Once its `deinit` has begun, `body` is not called any more. The
    /// observation ends with `.ownerDeleted` at the next event, `observationCount`, `isActive` or
    /// `drain`, or when enough other observers were registered.
    ///
    /// - Parameters:
    ///   - owner: The object with which the observation ends; `body` receives it.
    ///   - delivery: Where `body` is called, and how many calls run at a time.
    ///   - body: Called under no lock, with the owner and the event.
    /// - Returns: The token that keeps the observation going.
    @inlinable
    public func observe<Owner: AnyObject & Sendable>(
        owner: Owner,
        delivery: Delivery = .inline,
        _ body: @escaping @Sendable (Owner, Event) -> Void
    ) -> ObservationToken {
        let reference = WeakReference(owner)
        return attach(delivery, owner: reference, .bound(to: reference, body))
    }

    /// Calls `body` on `target`, isolated to it, with every event whose notification begins after
    /// this call returned: one at a time, in the order of arrival. (P1)
    ///
    /// Keep the actor as well as the token: the observation does not retain the actor. When the
    /// actor is released, the observation ends with `.ownerDeleted`, at the next event. (P11) A
    /// notifying thread puts the event into the observer's mailbox and continues.
    ///
    /// - Parameters:
    ///   - target: Any actor. For state of the main actor, use `observeIsolated` with a
    ///     `@MainActor` closure.
    ///   - buffering: Which events are kept while the actor is busy.
    ///   - body: Called under no lock. It must not block until its own actor does something.
    /// - Returns: The token that keeps the observation going.
    @inlinable
    public func observe<Target: Actor>(
        on target: Target,
        buffering: Buffering = .unbounded,
        _ body: @escaping @Sendable (isolated Target, Event) -> Void
    ) -> ObservationToken {
        attach(Delivery(.isolated(DeliveryIsolation(to: target)), buffering), .isolated(to: target, body))
    }

    /// Calls `body`, on the actor to which it belongs, with every event whose notification begins
    /// after this call returned: one at a time, in the order of arrival. (P1)
    ///
    /// Keep the actor as well as the token: the observation does not retain the actor, unless the
    /// closure captures it. When the actor is released, the observation ends with `.ownerDeleted`,
    /// at the next event. (P11) The main actor is never released.
    ///
    /// The actor is the one that the closure names, as in `{ @MainActor event in … }`, or else the
    /// one in whose code this call is written.
    ///
    /// - Parameters:
    ///   - buffering: Which events are kept while the actor is busy.
    ///   - isolation: The caller's actor. Leave it out.
    ///   - body: Called under no lock. It must not block until its own actor does something.
    /// - Returns: The token that keeps the observation going.
    /// - Precondition: The closure names an actor, or the caller is on one.
    @inlinable
    public func observeIsolated(
        buffering: Buffering = .unbounded,
        isolation: (any Actor)? = #isolation,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Event) -> Void
    ) -> ObservationToken {
        let delivery = Delivery(.isolated(.of(body.isolation, context: isolation)), buffering)
        return attach(delivery, .plain(withoutIsolation(body)))
    }

    @inlinable
    internal func attach(
        _ delivery: Delivery,
        owner: WeakReference? = nil,
        _ form: CallbackForm<Event>
    ) -> ObservationToken {
        let owner = owner ?? delivery.owner
        guard !delivery.isInline else {
            let observer = observers.makeObserver(owner: owner)
            observer.setCallback(form)
            return start(observer)
        }
        let observation = delivery.makeObservation(owner: owner, form)
        let receiver: EventReceiver<Event> = observation.receiver()
        let sourceObserver = observers.makeObserver(of: .mailboxes(), holding: HeldObject(receiver), owner: owner)
        let token = observation.join(sourceObserver)
        sourceObserver.register(of: Event.self)
        observation.hasJoined()
        return token
    }
}

// MARK: - Sequences

extension ObserverRegistry {
    /// Returns the events as an asynchronous sequence, in the order of arrival. An iterator returns
    /// the events whose notification begins after the iterator was made. (P1)
    ///
    /// - Parameter buffering: Which events are kept while the iterating task is busy.
    @inlinable
    public func events(buffering: Buffering = .unbounded) -> ObservationSequence<Event> {
        buffering.check()
        return ObservationSequence { [weak self] in
            self?.makeIteratorSource(buffering) ?? IteratorSource<Event>().take(keeping: nil)
        }
    }

    /// Begins an iteration over the events from now on.
    @inlinable
    internal func makeIteratorSource(_ buffering: Buffering) -> IteratorSource<Event> {
        let source = IteratorSource<Event>()
        let subscription = Subscription<Kept<Event>>(buffering)
        source.fill(subscription)
        let receiver = subscription.receiver { (event: Event) in event }
        let sourceObserver = observers.makeObserver(of: .mailboxes(), holding: HeldObject(receiver))
        subscription.join(sourceObserver)
        sourceObserver.register(of: Event.self)
        return source.take(keeping: ObservationToken(sourceObserver))
    }
}
