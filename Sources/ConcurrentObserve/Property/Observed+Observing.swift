// SPDX-License-Identifier: Apache-2.0

extension Observed {
    /// Calls `body` with every change that begins after this call returned. (P1, P4)
    ///
    /// Every version after the one at the registration is delivered, once, on the thread that makes the change, after the change. With
    /// `.initial`, `body` is called on this thread, too, before the call returns; a change that races with it may arrive first,
    /// on its own thread, with its higher version. Traps in the body of this property's `modify`. (P5)
    ///
    /// - Parameters:
    ///   - options: What to hear.
    ///   - body: Called under no lock, possibly on several threads at once. It may do anything, block included: it then delays
    ///     its own thread only.
    /// - Returns: The token that keeps the observation going.
    /// - Complexity: O(1) amortised.
    @inlinable
    public func observe(
        options: ObservationOptions = [],
        _ body: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        let observer = makeObserver(options)
        observer.setCallback(Callback(body))
        return start(observer, options)
    }

    /// The same, with a closure that also receives its observation, to end it from within, the initial delivery included.
    @inlinable
    public func observe(
        options: ObservationOptions = [],
        _ body: @escaping @Sendable (Change<Value>, ObservationHandle) -> Void
    ) -> ObservationToken {
        let observer = makeObserver(options)
        let handle = ObservationHandle(observer)
        observer.setCallback(Callback<Change<Value>> { change in body(change, handle) })
        return start(observer, options)
    }

    /// The same for as long as `owner` lives; `body` receives it. (P13)
    ///
    /// The owner is not retained. Once its `deinit` has begun, `body` is not called any more, and the observation ends with
    /// `.ownerDeleted` at the next change, `isActive` or `drain`, or when enough others were registered.
    @inlinable
    public func observe<Owner: AnyObject & Sendable>(
        owner: Owner,
        options: ObservationOptions = [],
        _ body: @escaping @Sendable (Owner, Change<Value>) -> Void
    ) -> ObservationToken {
        let reference = WeakReference(owner)
        let observer = makeObserver(options, owner: reference)
        observer.setCallback(.bound(to: reference, of: observer, body))
        return start(observer, options)
    }

    /// Calls `body` with every new value: those of the changes that begin after this call returned.
    ///
    /// - Parameters:
    ///   - includingInitial: Whether to begin with the present value, before the call returns. (P4)
    ///   - body: As in `observe(options:_:)`. It is not called when the property is gone: see `ObservationToken.onEnd(_:)`.
    @inlinable
    public func observeValues(
        includingInitial: Bool = false,
        _ body: @escaping @Sendable (Value) -> Void
    ) -> ObservationToken {
        observe(options: includingInitial ? .initial : []) { (change: Change<Value>) in body(change.new) }
    }

    /// An observer of this property, without its closure.
    @inlinable
    internal func makeObserver(_ options: ObservationOptions, owner: WeakReference? = nil) -> VersionedObserver {
        observers.makeVersionedObserver(owner: owner, hears: options.marks)
    }

    /// Publishes an observer. From the version that it finds here on, it hears every one. (P4)
    @inlinable
    internal func start(_ observer: VersionedObserver, _ options: ObservationOptions) -> ObservationToken {
        mutation.trapInsideBody(.observe)
        guard options.contains(.initial) else {
            publish(observer)
            return ObservationToken(observer)
        }
        let token = ObservationToken(observer)
        startWithInitial(observer)
        return token
    }

    @usableFromInline
    internal func publish(_ observer: VersionedObserver) { publish(observer) { _ in } }

    /// Publishes an observer after `prepare` was called with the value and the version from which on it hears all. (P4)
    ///
    /// - Parameter prepare: Called under the lock. No user code. (P5)
    @usableFromInline
    internal func publish(_ observer: VersionedObserver, _ prepare: ((value: Value, version: UInt64)) -> Void) {
        let deferred = mutation.withLockAtGate {
            let present = cell.load()
            observer.since = present.version
            inject("register.since")
            prepare(present)
            return observer.withCore { $0.publish(observer) }
        }
        observer.withCore { $0.settle(deferred) }
    }

    /// The same; returns the value at that moment, and its version.
    @usableFromInline
    internal func publishWithValue(_ observer: VersionedObserver) -> (value: Value, version: UInt64) {
        let early = mutant(.aChangeBetweenInitialAndRegistrationIsMissed) ? cell.load() : nil
        inject("initial.sampled")
        let (present, deferred) = mutation.withLockAtGate {
            observer.since = cell.version
            inject("register.since")
            return (cell.load(), observer.withCore { $0.publish(observer) })
        }
        inject("initial.published")
        observer.withCore { $0.settle(deferred) }
        return early ?? present
    }

    @inlinable @inline(never)
    internal func startWithInitial(_ observer: VersionedObserver) {
        // The value may be replaced meanwhile, and its last copy be the one that is destroyed here.
        ThreadRecord.withUserCode { deliverInitial(publishWithValue(observer), to: observer) }
    }

    @inlinable @inline(never)
    internal func deliverInitial(_ present: (value: Value, version: UInt64), to observer: Observer) {
        let version = present.version &+ (mutant(.theInitialVersionIsAnother) ? 1 : 0)
        let change = Change(reason: .initial, old: nil, new: present.value, version: version)
        change.tell(observer.address)
        if mutant(.theInitialValueIsToldTwice) { change.tell(observer.address) }
    }
}

extension Observed where Value: Equatable {
    /// As `observe(options:_:)`, but with `removingDuplicates` not called for a change to an equal value.
    ///
    /// The values of each change are compared with their own `==`, on the thread that made it, under no lock. The initial
    /// delivery and prior ones are delivered in any case.
    @inlinable
    public func observe(
        removingDuplicates: Bool,
        options: ObservationOptions = [],
        _ body: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        guard removingDuplicates else { return observe(options: options, body) }
        return observe(options: options) { (change: Change<Value>) in
            if case .some(let old) = change.old, old == change.new { return }
            body(change)
        }
    }
}
