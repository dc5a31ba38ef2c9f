// SPDX-License-Identifier: Apache-2.0

// How a path is delivered whose changes a mailbox keeps in another form: see `KeptPath`.

extension KeptPath {
    @usableFromInline
    internal func observe(
        from root: Root,
        _ options: ObservationOptions,
        _ delivery: Delivery,
        owner: WeakReference?,
        _ callback: (Observer) -> Callback<Change<Value>>
    ) -> ObservationToken {
        let observation = delivery.makeObservation(of: Change<Kept>.self)!
        let user = observation.makeUser(owner: owner)
        let body = callback(user).body
        user.setCallback(Callback<Change<Kept>> { change in body(change.map(value)) })
        return root.startAlong(path, observation, options, owner: owner)
    }

    @usableFromInline
    internal func observe<Target: Actor>(
        from root: Root,
        on target: Target,
        _ options: ObservationOptions,
        _ buffering: Buffering,
        _ body: @escaping @Sendable (isolated Target, Change<Value>) -> Void
    ) -> ObservationToken {
        let owner = WeakReference(target)
        let observation = ActorObservation<Target, Change<Kept>>(target, buffering)
        let callback = IsolatedCallback<Target, Change<Kept>> { target, change in body(target, change.map(value)) }
        observation.makeUser(owner: owner).setCallback(callback)
        return root.startAlong(path, observation, options, owner: owner)
    }

    @usableFromInline
    internal func observe(
        from root: Root,
        isolation: (of: (any Actor)?, context: (any Actor)?),
        _ options: ObservationOptions,
        _ buffering: Buffering,
        _ body: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        let (observation, owner) = IsolationObservation<Change<Kept>>.observing(isolation: isolation, buffering) {
            change in body(change.map(value))
        }
        return root.startAlong(path, observation, options, owner: owner)
    }

    internal func changes(
        from root: Root,
        _ options: ObservationOptions,
        _ buffering: Buffering
    ) -> ObservationSequence<Change<Value>> {
        sequence(from: root, options, buffering, event: { $0 }, element: { $0.map(value) })
    }

    internal func values(
        from root: Root,
        _ options: ObservationOptions,
        _ buffering: Buffering
    ) -> ObservationSequence<Value> {
        sequence(from: root, options, buffering, event: { $0.new }, element: { value(of: $0) })
    }

    private func sequence<Event: Sendable, Element: Sendable>(
        from root: Root,
        _ options: ObservationOptions,
        _ buffering: Buffering,
        event: @escaping @Sendable (Change<Kept>) -> Event,
        element: @escaping @Sendable (Event) -> Element
    ) -> ObservationSequence<Element> {
        buffering.check()
        return ObservationSequence(relaying: { [weak root, path] in
            let subscription = Subscription<Event>(buffering)
            if let root {
                root.begin(subscription, along: path, options, event)
            } else {
                subscription.finish()
            }
            return SubscriptionRelay(subscription, element)
        })
    }
}
