// SPDX-License-Identifier: Apache-2.0

/// The closure of an observer that is not made yet: some closures need the observation that they
/// belong to.
@usableFromInline
internal enum CallbackForm<Event>: Sendable {
    case plain(@Sendable (Event) -> Void)
    /// Made once, when the observer exists.
    case made(@Sendable (Observer) -> @Sendable (Event) -> Void)
    /// Made once. It may be called and not call the user's code: it counts what becomes of each
    /// event, if there is a tally.
    case choosing(@Sendable (Observer, EventTally?) -> @Sendable (Event) -> Void)
}

extension CallbackForm {
    /// A closure that also receives its observation.
    @inlinable
    static func withHandle(_ body: @escaping @Sendable (Event, ObservationHandle) -> Void) -> CallbackForm {
        .made { observer in
            let handle = ObservationHandle(observer)
            return { event in body(event, handle) }
        }
    }

    /// A closure that receives its owner, and is not called once the owner's `deinit` has begun.
    /// (P13)
    @inlinable
    static func bound<Owner: AnyObject & Sendable>(
        to reference: WeakReference,
        _ body: @escaping @Sendable (Owner, Event) -> Void
    ) -> CallbackForm {
        .choosing { observer, tally in
            let counted: @Sendable (Owner, Event) -> Void =
                if let tally {
                    { owner, event in
                        tally.countReceived()
                        body(owner, event)
                    }
                } else {
                    body
                }
            let callback = Callback.bound(to: reference, of: observer, tally, counted)
            return callback.body
        }
    }

    /// Whether the closure may be called and not call the user's code.
    @inlinable
    var isChoosing: Bool { if case .choosing = self { true } else { false } }

    /// The closure of `observer`.
    ///
    /// - Parameter tally: Where a closure that chooses counts; nil if the observer is inline.
    @inlinable @inline(__always)
    func body(for observer: Observer, _ tally: EventTally?) -> @Sendable (Event) -> Void {
        switch self {
        case .plain(let body): body
        case .made(let make): make(observer)
        case .choosing(let make): make(observer, tally)
        }
    }

    /// The form for other events, each of which `transform` makes into one of these, or into nil:
    /// then nothing is called.
    ///
    /// - Parameter runsNoUserCode: Whether neither does: then nothing that `transform` makes is dropped again where user code must not run.
    func pulledBack<Other>(
        runsNoUserCode: Bool = false,
        _ transform: @escaping @Sendable (Other) -> Event?
    ) -> CallbackForm<Other> {
        .choosing { observer, tally in
            let body = body(for: observer, tally)
            // A frame has the observer as current while its closure is called.
            let address = observer.address
            guard let tally else {
                if runsNoUserCode {
                    return { other in if Observer.isActive(at: address), let event = transform(other) { body(event) } }
                }
                return { other in
                    if let event = transform(other), Observer.isActiveAfterTransform(at: address) { body(event) }
                }
            }
            // Each event is counted once: by the innermost closure that chooses.
            let isInnermost = !isChoosing
            return { other in
                guard let event = transform(other) else { return tally.countLeftOut() }
                guard Observer.isActiveAfterTransform(at: address) else { return tally.countDropped(1) }
                if isInnermost { tally.countReceived() }
                body(event)
            }
        }
    }
}

extension Observer {
    /// Whether the observation at `address` goes on: the transform of an event is user code, such as
    /// a value's `==`, and may have ended it. (P8)
    fileprivate static func isActiveAfterTransform(at address: UInt) -> Bool {
        return isActive(at: address)
    }

    /// Stores the closure. Once, before the observer is published.
    ///
    /// - Parameter tally: Where a closure that chooses counts; nil if the observer is inline.
    @inlinable
    func setCallback<Event>(_ form: CallbackForm<Event>, _ tally: EventTally? = nil) {
        setCallback(Callback(form.body(for: self, tally)))
    }
}
