// SPDX-License-Identifier: Apache-2.0

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
            return attach(factory.make(), observer.options, owner: observer.owner)
        }
    }

    /// Attaches an observer without retaining the property; nil once the property is gone. (P11)
    @inlinable
    public var weakAttachment: WeakAttachment<Value> { { [weak self] observer in self?.attach(observer) } }

    /// Begins an observation that puts the changes into a mailbox. The initial value comes first.
    /// (P4)
    @inlinable
    internal func attach(
        _ receiver: ChangeReceiver<Value>,
        _ options: ObserverOptions,
        owner: WeakReference?
    ) -> ObservationToken {
        mutation.trapInsideBody(.observe, cell.latch.owner)
        let sourceObserver = makeSourceObserver(to: receiver, options, owner: owner)
        let token = receiver.join(sourceObserver)
        publish(sourceObserver) { present in
            if options.contains(.initial) { receiver.enqueue(.initial(present)) }
        }
        receiver.hasJoined()
        return token ?? ObservationToken(sourceObserver)
    }

    /// Makes an observer that puts changes into a mailbox.
    @inlinable
    internal func makeSourceObserver(
        to receiver: ChangeReceiver<Value>,
        _ options: ObserverOptions,
        owner: WeakReference?
    ) -> VersionedObserver {
        observers.makeVersionedObserver(
            of: .mailboxes(),
            holding: HeldObject(receiver),
            owner: owner,
            options.marks
        )
    }

    /// Makes an observer of this property, without its closure.
    @inlinable
    internal func makeObserver(_ options: ObserverOptions, owner: WeakReference? = nil) -> VersionedObserver {
        observers.makeVersionedObserver(owner: owner, options.marks)
    }

    /// Publishes an observer. It receives every version after the one that it finds here. (P4)
    @inlinable
    internal func start(_ observer: VersionedObserver, _ options: ObserverOptions) -> ObservationToken {
        mutation.trapInsideBody(.observe, cell.latch.owner)
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

    /// Publishes an observer after calling `prepare` with the present value and its version. The
    /// observer receives every later version. (P4)
    ///
    /// - Parameter prepare: Called while no thread publishes a change. It runs no user code. (P5)
    @usableFromInline
    internal func publish(_ observer: VersionedObserver, _ prepare: ((value: Value, version: UInt64)) -> Void) {
        let deferred = mutation.withPublicationHeld(cell.latch.owner) {
            let present = cell.load()
            observer.since = present.version
            prepare(present)
            return observer.withCore { $0.publish(observer) }
        }
        observer.withCore { $0.settle(deferred) }
    }

    /// Publishes an observer. Returns the value at that moment, and its version.
    @usableFromInline
    internal func publishWithValue(_ observer: VersionedObserver) -> (value: Value, version: UInt64) {
        return publishAndSample(observer)
    }

    internal func publishAndSample(_ observer: VersionedObserver) -> (value: Value, version: UInt64) {
        let (present, deferred) = mutation.withPublicationHeld(cell.latch.owner) {
            observer.since = cell.version
            return (cell.load(), observer.withCore { $0.publish(observer) })
        }
        observer.withCore { $0.settle(deferred) }
        return present
    }

    @inlinable @inline(never)
    internal func startWithInitial(_ observer: VersionedObserver) {
        // Another thread may replace the value. Then its last copy may be destroyed here.
        ThreadRecord.withUserCode {
            let present = publishWithValue(observer)
            deliverInitial(present, to: observer)
        }
    }

    @inlinable @inline(never)
    internal func deliverInitial(_ present: (value: Value, version: UInt64), to observer: Observer) {
        Change.initial(present).deliver(to: observer.address)
    }
}

extension Change {
    /// The initial delivery.
    @inlinable
    internal static func initial(_ present: (value: Value, version: UInt64)) -> Change {
        Change(reason: .initial, old: nil, new: present.value, version: present.version)
    }
}
