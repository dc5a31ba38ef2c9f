// SPDX-License-Identifier: Apache-2.0

extension Observed {
    /// The changes of the property as an asynchronous sequence, in the order of the versions. (P1, P2, P4)
    ///
    /// With `.initial`, each iterator begins with the present value; every later version follows, but for those that `buffering` drops. When the
    /// property is gone, `.sourceDeleted` is the last element. (P12)
    ///
    /// - Parameters:
    ///   - options: What to hear.
    ///   - buffering: What becomes of changes while the iterating task is busy.
    @inlinable
    public func changes(
        options: ObservationOptions = [],
        buffering: Buffering = .unbounded
    ) -> ObservationSequence<Change<Value>> {
        sequence(options, buffering) { $0 }
    }

    /// The values of the property as an asynchronous sequence: those of the changes that begin after an iterator was made.
    ///
    /// - Parameters:
    ///   - includingInitial: Whether each iterator begins with the present value. (P4)
    ///   - buffering: What becomes of values while the iterating task is busy.
    @inlinable
    public func values(
        includingInitial: Bool = false,
        buffering: Buffering = .unbounded
    ) -> ObservationSequence<Value> {
        sequence(includingInitial ? .initial : [], buffering) { $0.new }
    }

    @inlinable
    internal func sequence<Element>(
        _ options: ObservationOptions,
        _ buffering: Buffering,
        _ element: @escaping @Sendable (Change<Value>) -> Element
    ) -> ObservationSequence<Element> {
        buffering.check()
        return ObservationSequence { [weak self] in
            let subscription = Subscription<Element>(buffering)
            guard let self else {
                subscription.finish()
                return subscription
            }
            begin(subscription, options, element)
            return subscription
        }
    }

    /// Lets the property post its changes to a subscription, from a version on; the initial value goes ahead of them. (P4)
    @inlinable
    internal func begin<Element>(
        _ subscription: Subscription<Element>,
        _ options: ObservationOptions,
        _ element: @escaping @Sendable (Change<Value>) -> Element
    ) {
        mutation.trapInsideBody(.observe)
        let poster = makePoster(options) { posting in subscription.receive(posting, element) }
        subscription.join(poster)
        publish(poster) { present in
            if options.contains(.initial) { subscription.post(element(.initial(present))) }
        }
    }
}

extension Subscription {
    /// Does what a property's posting says.
    @inlinable
    internal func receive<Value>(_ posting: Posting<Value>, _ element: (Change<Value>) -> Event) {
        switch posting {
        case .wake: wake()
        case .attend: attend()
        case .change(let change): post(element(change))
        }
    }
}
