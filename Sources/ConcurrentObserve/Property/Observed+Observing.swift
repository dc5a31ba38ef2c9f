// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Observed: ObservableProperty {
    /// Begins an observation. Any thread, also inside a callback; traps in the body of this
    /// property's `modify`, or of a commit that includes it. (P1, P4, P5)
    ///
    /// - Complexity: O(1) amortised.
    @inlinable
    public func attach(_ observer: PropertyObserver<Value>) -> ObservationToken {
        switch observer.form {
        case .inline(let callback):
            let inner = makeObserver(observer.options, owner: observer.owner)
            inner.setCallback(callback)
            return start(inner, observer.options)
        case .mailbox(let factory):
            return attach(factory.make(), observer)
        }
    }

    /// A function that attaches an observer, but does not retain the property. It returns nil once
    /// the property is gone. (P11)
    @inlinable
    public var weakAttachment: @Sendable (PropertyObserver<Value>) -> ObservationToken? {
        { [weak self] observer in self?.attach(observer) }
    }

    /// Begins an observation that puts the changes into the mailbox `receiver`. The initial value
    /// comes first, if `user` asks for it. (P4)
    @inlinable
    internal func attach(_ receiver: ChangeReceiver<Value>, _ user: PropertyObserver<Value>) -> ObservationToken {
        mutation.trapInsideBody(.observe, cell.latch.owner)
        let options = user.options
        let inner = observers.makeVersionedObserver(
            of: .mailboxes(),
            holding: HeldObject(receiver),
            owner: user.owner,
            options.marks
        )
        let token = receiver.join(inner)
        attach(inner) { present in
            // The caller holds off publication, so no change comes before it.
            if options.contains(.initial) { receiver.enqueue(.initial(present)) }
        }
        receiver.hasJoined()
        return token ?? ObservationToken(inner)
    }

    /// Makes an observer of this property. The caller stores its closure, and attaches it.
    @inlinable
    internal func makeObserver(_ options: ObserverOptions, owner: WeakReference? = nil) -> VersionedObserver {
        observers.makeVersionedObserver(owner: owner, options.marks)
    }

    /// Attaches an observer, and returns its token. With `.initial` the observer receives the
    /// present value. Then it receives every later version. (P4)
    @inlinable
    internal func start(_ observer: VersionedObserver, _ options: ObserverOptions) -> ObservationToken {
        mutation.trapInsideBody(.observe, cell.latch.owner)
        guard options.contains(.initial) else {
            attach(observer) { _ in }
            return ObservationToken(observer)
        }
        let token = ObservationToken(observer)
        startWithInitial(observer)
        return token
    }

    /// Attaches an observer after calling `prepare` with the present value and its version. The
    /// observer receives every later version. (P4)
    ///
    /// - Parameter prepare: Called while no thread publishes a change. It runs no user code. (P5)
    /// - Returns: The result of `prepare`.
    @usableFromInline
    internal func attach<Result>(
        _ observer: VersionedObserver,
        _ prepare: ((value: Value, version: UInt64)) -> Result
    ) -> Result {
        ObservationScope.recordIfNeeded(observer, of: Value.self)
        let (result, deferred) = mutation.withPublicationHeld(cell.latch.owner) {
            let present = cell.load()
            observer.since = present.version
            return (prepare(present), observer.withCore { $0.attach(observer) })
        }
        observer.withCore { $0.settle(deferred) }
        return result
    }

    @inlinable @inline(never)
    internal func startWithInitial(_ observer: VersionedObserver) {
        // Another thread may replace the value. Then its last copy may be destroyed here.
        ThreadRecord.withUserCode {
            let present = attach(observer) { $0 }
            Change.initial(present).deliver(to: observer.address)
        }
    }

    /// Stores the present version in `limit`, and returns it with its value. No change is published
    /// in between, so every delivery of a later version finds the limit. A path uses it to end its
    /// observer of this property at a version.
    ///
    /// - Returns: Nil if the limit has been set before, by a commit.
    internal func cut(at limit: borrowing Atomic<UInt64>) -> (value: Value, version: UInt64)? {
        mutation.withPublicationHeld(cell.latch.owner) {
            // Relaxed: as below.
            guard limit.load(ordering: .relaxed) == .max else { return nil }
            let present = cell.load()
            // Relaxed: ordered before every later change by `lock`, or, while a body runs, by
            // `bodyLock`, which the body's thread finds free before it publishes.
            limit.store(present.version, ordering: .relaxed)
            return present
        }
    }
}

extension Change {
    /// Makes the initial delivery, which has the present value and its version.
    @inlinable
    internal static func initial(_ present: (value: Value, version: UInt64)) -> Change {
        Change(reason: .initial, old: nil, new: present.value, version: present.version)
    }
}

extension Observed: ObservationSource {
    /// The number of observations of this property that have not ended. Observations of paths that
    /// begin with the property, and of groups that contain it, are included. Ends observations
    /// whose owners have died. (P8, P13)
    ///
    /// A path from another object that leads through or to the property counts as an observation of
    /// its root, and not here. An observed derived value counts once, however many observers it
    /// has, until the call that ends its last observation has returned. (P24)
    ///
    /// - Complexity: O(*n*) on average.
    public var observationCount: Int {
        guard let core = observers.existingCore else { return 0 }
        core.sweepOwners()
        return core.observationCount { !$0.isForeign || $0.isOfDerivedValue }
    }

    /// Ends every observation of this property, of groups that contain it, and of paths that begin
    /// with it, as if each was cancelled. Any thread, also inside a callback; never waits. (P8)
    ///
    /// - Complexity: O(*n*).
    public func cancelAllObservations() { observers.existingCore?.removeAll { $0.isForeign ? nil : .cancelled } }

    /// Ends the observations of this property, and of groups that contain it, that were registered
    /// with `owner`. Each ends as if it was cancelled. (P8)
    ///
    /// - Complexity: O(*n*).
    public func cancelAllObservations(ownedBy owner: AnyObject) {
        observers.existingCore?.removeAll(boundTo: owner) { !$0.isForeign }
    }
}

extension WeakObserved: ObservationSource {
    /// The number of observations of this property that have not ended. Observations of paths that
    /// begin with the property, and of groups that contain it, are included. Ends observations
    /// whose owners have died. (P8, P13)
    ///
    /// - Complexity: O(*n*) on average.
    public var observationCount: Int { storage.observationCount }

    /// Ends every observation of this property, of groups that contain it, and of paths that begin
    /// with it, as if each was cancelled. Any thread, also inside a callback; never waits. (P8)
    ///
    /// - Complexity: O(*n*).
    public func cancelAllObservations() { storage.cancelAllObservations() }

    /// Ends the observations of this property, and of groups that contain it, that were registered
    /// with `owner`. Each ends as if it was cancelled. (P8)
    ///
    /// - Complexity: O(*n*).
    public func cancelAllObservations(ownedBy owner: AnyObject) { storage.cancelAllObservations(ownedBy: owner) }
}
