// SPDX-License-Identifier: Apache-2.0

extension ConcurrentObservable {
    /// The changes of the property that `path` leads to, wherever it leads, as an asynchronous sequence, in the order of the path's versions.
    ///
    /// See `Observed.changes(options:buffering:)`. This object is not retained.
    public func changes<Value: Sendable>(
        _ path: any PathTo<Self, Value> & Sendable,
        options: ObservationOptions = [],
        buffering: Buffering = .unbounded
    ) -> ObservationSequence<Change<Value>> {
        ObservedPath<Self, Self>.root[keyPath: path].kept?.changes(from: self, options, buffering)
            ?? sequence(path, options, buffering) { $0 }
    }

    /// The values of the property that `path` leads to, as an asynchronous sequence. See `Observed.values(includingInitial:buffering:)`.
    public func values<Value: Sendable>(
        _ path: any PathTo<Self, Value> & Sendable,
        includingInitial: Bool = false,
        buffering: Buffering = .unbounded
    ) -> ObservationSequence<Value> {
        let options: ObservationOptions = includingInitial ? .initial : []
        return ObservedPath<Self, Self>.root[keyPath: path].kept?.values(from: self, options, buffering)
            ?? sequence(path, options, buffering) { $0.new }
    }

    private func sequence<Value: Sendable, Element>(
        _ path: any PathTo<Self, Value> & Sendable,
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
            let steps = ObservedPath<Self, Self>.root[keyPath: path]
            if let property = steps.directProperty(of: self) {
                property.begin(subscription, options, element)
            } else {
                begin(subscription, along: steps, options, element)
            }
            return subscription
        }
    }

    /// Lets a path post its changes to a subscription.
    internal func begin<Value: Sendable, Event>(
        _ subscription: Subscription<Event>,
        along path: ObservedPath<Self, Value>,
        _ options: ObservationOptions,
        _ event: @escaping @Sendable (Change<Value>) -> Event
    ) {
        let order = VersionOrder<Value>(options) { change in subscription.post(event(change)) }
        let posting = PathPosting(
            put: order.put,
            wake: subscription.wake,
            attend: subscription.attend,
            isSerial: false
        )
        subscription.keep(post(path, options, posting, subscription.join))
    }
}
