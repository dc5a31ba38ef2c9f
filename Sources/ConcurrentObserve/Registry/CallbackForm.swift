// SPDX-License-Identifier: Apache-2.0

/// Describes how to make the closure of an observer. Some closures use their observer, and can be
/// made only when the observer exists.
///
/// An *inline* observer is called on the thread that makes the event. The library counts the events
/// of all other observers in an `EventTally`.
@usableFromInline
internal enum CallbackForm<Event>: Sendable {
    case plain(@Sendable (Event) -> Void)
    /// A function that makes the closure. It is called once, when the observer exists.
    case made(@Sendable (Observer) -> @Sendable (Event) -> Void)
    /// A function that makes the closure. It is called once, when the observer exists. The closure
    /// decides for each event whether to call the user's code. If the function receives a tally,
    /// the closure counts each event in it.
    case choosing(@Sendable (Observer, EventTally?) -> @Sendable (Event) -> Void)
}

extension CallbackForm {
    /// Returns a form whose closure calls `body` with the event and a handle of the observation.
    @inlinable
    static func withHandle(_ body: @escaping @Sendable (Event, ObservationHandle) -> Void) -> CallbackForm {
        .made { observer in
            let handle = ObservationHandle(observer)
            return { event in body(event, handle) }
        }
    }

    /// Returns a form whose closure calls `body` with the owner, to which `reference` refers, and
    /// the event. Once the owner's `deinit` has begun, the closure ends the observation instead.
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

    /// Whether the closure decides for each event whether to call the user's code.
    @inlinable
    var isChoosing: Bool { if case .choosing = self { true } else { false } }

    /// Returns the closure for `observer`.
    ///
    /// - Parameter tally: Counts the events of a `choosing` closure; nil if the observer is inline.
    @inlinable @inline(__always)
    func body(for observer: Observer, _ tally: EventTally?) -> @Sendable (Event) -> Void {
        switch self {
        case .plain(let body): body
        case .made(let make): make(observer)
        case .choosing(let make): make(observer, tally)
        }
    }

    /// Returns a form for a source of other events. Its closure calls `transform` with each event,
    /// and passes the result to this form's closure. If the result is nil, the closure leaves the
    /// event out.
    ///
    /// - Parameter runsNoUserCode: True if neither `transform` nor this form's closure runs user
    ///   code. Then the closure checks whether the observation has ended before it calls
    ///   `transform`, and not afterwards. It therefore never drops an event that `transform` has
    ///   made. So no user code runs in it, not even the deinitialiser of an event.
    func pulledBack<Other>(
        runsNoUserCode: Bool = false,
        _ transform: @escaping @Sendable (Other) -> Event?
    ) -> CallbackForm<Other> {
        .choosing { observer, tally in
            let body = body(for: observer, tally)
            // A frame names the observer in `current` while its closure is called.
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
    /// Whether the observation of the observer at `address` is still active after the transform of
    /// an event. The transform runs user code, such as a value's `==`, which may have ended the
    /// observation. (P8)
    fileprivate static func isActiveAfterTransform(at address: UInt) -> Bool {
        return isActive(at: address)
    }

    /// Stores the closure that `form` makes. Must be called once, before the observer is published.
    ///
    /// - Parameter tally: Counts the events of a `choosing` closure; nil if the observer is inline.
    @inlinable
    func setCallback<Event>(_ form: CallbackForm<Event>, _ tally: EventTally? = nil) {
        setCallback(Callback(form.body(for: self, tally)))
    }
}

/// The closure of an observer. A notification calls it in place, and counts no reference. (P15)
@usableFromInline
internal struct Callback<Event>: ~Copyable {
    @usableFromInline let body: @Sendable (Event) -> Void

    @inlinable @inline(__always)
    init(_ body: consuming @escaping @Sendable (Event) -> Void) { self.body = body }

    @inlinable @inline(__always)
    borrowing func callAsFunction(_ event: Event) { body(event) }
}

extension Callback {
    /// Returns a closure that calls `body` with the owner, to which `reference` refers, and the
    /// event. Once the owner's `deinit` has begun, the closure ends the observation of `observer`
    /// instead. (P13)
    ///
    /// - Parameter tally: Counts as dropped the event that the owner does not receive.
    @inlinable
    static func bound<Owner: AnyObject & Sendable>(
        to reference: WeakReference,
        of observer: Observer,
        _ tally: EventTally?,
        _ body: @escaping @Sendable (Owner, Event) -> Void
    ) -> Callback {
        let handle = ObservationHandle(observer)
        return Callback { event in
            guard let owner = reference.object(as: Owner.self) else { return handle.endWithOwner(tally) }
            body(owner, event)
        }
    }
}

extension ObservationHandle {
    /// Ends the observation because its owner is gone.
    ///
    /// - Parameter tally: Counts as dropped the event that the owner does not receive.
    @usableFromInline
    internal func endWithOwner(_ tally: EventTally?) {
        observer.end(.ownerDeleted)
        tally?.countDropped(1)
    }
}

/// Two words that store the content of an observer of any kind: a `Callback` or a `HeldObject`.
/// Every closure consists of a code pointer and a context, whatever its parameters are.
@usableFromInline
internal struct ContentStorage {
    var first: UInt = 0
    private var reference: UInt = 0

    @usableFromInline
    init() {}
}
