// SPDX-License-Identifier: Apache-2.0

/// The property that a key path leads to at present, wherever it leads: itself observable.
///
/// ``ConcurrentObservable`` makes it with `property(_:)`. It retains its root; what is observed through it does not. (P11)
///
/// When a step before the last is replaced, from any thread, observers receive `.pathChanged`, with the value there and the one before,
/// and then the changes of the new property; those of the old one they do not receive any more. A step that is nil makes the value nil.
/// A change that races with a replacement may be folded into the `.pathChanged`, and two replacements that race into one. The source of a
/// path is its root: when that is deinitialised, observations end with `.sourceDeleted`. (P12)
///
/// Each observation of several steps numbers its changes itself, 1, 2, 3, …, `old` being `new` of the one before; its `.initial` has
/// version 0. A path of one step is the property itself, and has its versions. (P2)
///
/// Inline observers are called on the threads that make the changes; for `.pathChanged` possibly on another one that replaces a step
/// at the same time, or, when replacements keep racing, on one of the library's own: `drain` waits for that.
public struct Path<Root: ConcurrentObservable, Value: Sendable>: ObservableProperty {
    @usableFromInline internal let root: Root
    @usableFromInline internal let steps: ObservedPath<Root, Value>

    @usableFromInline
    internal init(_ root: Root, _ steps: ObservedPath<Root, Value>) {
        if steps.last == nil {
            fatalError("ConcurrentObserve: a path needs a step. Name a property, as in \\.name.")
        }
        (self.root, self.steps) = (root, steps)
    }
}

extension ConcurrentObservable {
    /// The property that `path` leads to at present, wherever it leads: itself observable.
    ///
    /// ```swift
    /// let rpm = car.property(\.engine.rpm)
    /// let token = rpm.observe { change in print(change.new) }
    /// ```
    ///
    /// - Parameter path: The steps, as in `\.engine.rpm`.
    @inlinable
    public func property<Value: Sendable>(_ path: PathTo<Self, Value>) -> Path<Self, Value> {
        Path(self, ObservedPath<Self, Self>.root[keyPath: path])
    }
}

// MARK: - Reading

extension Path {
    /// The value of the property that the path leads to at present. Any thread; never waits. Evaluates the steps.
    ///
    /// - Complexity: O(steps).
    public var value: Value { snapshot().value }

    /// A number that grows with every change of what the path leads to: the version of the last property, and in the upper half how
    /// often the steps before it were replaced, an earlier one counting for more than all later ones. A path of one step has its
    /// property's version.
    ///
    /// The steps share 32 bits: of three, so that two can be replaced, each has 16. Once a step was replaced more often, the number does
    /// not grow any more, but still differs from that of every other state, unless two of 2⁶⁴ numbers that are as good as random are
    /// equal.
    ///
    /// - Complexity: O(steps).
    public var version: UInt64 { snapshot().version }

    /// The value of the property that the path leads to at present, and the number that belongs to it. Any thread; never waits.
    ///
    /// - Complexity: O(steps).
    public func snapshot() -> (value: Value, version: UInt64) {
        var object: PathObject? = root
        var replacements: UInt64 = 0
        var states = VersionMix()
        // A replaced step leads to others, whose versions may be lower: the earlier a step, the more it counts.
        let bits = 32 / max(steps.links.count, 1)
        for link in steps.links {
            replacements <<= bits
            guard let present = object else { continue }
            let (next, version) = link.sample(link.property(in: present))
            object = next
            replacements &+= version
            states.add(version, atMost: bits)
        }
        guard let object, let last = steps.last else {
            return (steps.absent!, states.isOver ? states.number : replacements << 32)
        }
        let (value, version) = last.snapshot(of: last.property(in: object))
        states.add(version, atMost: 32)
        return (value, states.isOver ? states.number : replacements << 32 &+ version)
    }
}

// MARK: - Observing

extension Path {
    /// Begins an observation. Any thread, also inside a callback. (P1, P4)
    ///
    /// - Complexity: O(steps).
    @inlinable
    public func attach(_ observer: PropertyObserver<Value>) -> ObservationToken {
        if let property = steps.directProperty(of: root) { return property.attach(observer) }
        return attachAlong(observer)
    }

    /// Begins observations for as long as the root lives. (P11)
    public var weakAttachment: WeakAttachment<Value> {
        { [weak root, steps] observer in root.map { Path($0, steps).attach(observer) } }
    }

    /// Observes a path that is not one property alone.
    @usableFromInline
    internal func attachAlong(_ observer: PropertyObserver<Value>) -> ObservationToken {
        switch observer.form {
        case .inline(let callback):
            if observer.isComparing, let kept = steps.kept { return kept.attach(observer, from: root) }
            return attach(observer.options, owner: observer.owner, nil) { $0.setCallback(callback) }
        case .mailbox(let factory):
            if let kept = steps.kept { return kept.attach(observer, from: root) }
            return attach(factory.make(), observer.options, owner: observer.owner)
        }
    }

    /// Has the path put its changes into a mailbox, in the order of their versions.
    private func attach(
        _ receiver: ChangeReceiver<Value>,
        _ options: ObserverOptions,
        owner: WeakReference?
    ) -> ObservationToken {
        let order = VersionOrder<Value>(options, receiver.enqueue)
        let ordered = ChangeReceiver<Value>(
            enqueue: order.put,
            wake: receiver.wake,
            drain: receiver.drain,
            join: receiver.join,
            hasJoined: receiver.hasJoined
        )
        var token: ObservationToken?
        let inner = attach(options, owner: owner, ordered) { sourceObserver in
            token = receiver.join(sourceObserver)
            // The initial value, and prior deliveries.
            sourceObserver.setCallback(
                Callback<Change<Value>> { change in
                    order.put(change)
                    // A prior delivery comes from the property's walk over its mailboxes, which drains them later. (P1)
                    if change.reason != .prior { receiver.drain() }
                }
            )
        }
        receiver.hasJoined()
        guard let token else { return inner }
        _ = token.observer.whenFinished { _ in withExtendedLifetime(inner) {} }
        return token
    }

    /// - Parameter prepare: Gives the path's observer its closure, before it is called.
    private func attach(
        _ options: ObserverOptions,
        owner: WeakReference?,
        _ receiver: ChangeReceiver<Value>?,
        _ prepare: (Observer) -> Void
    ) -> ObservationToken {
        let observation = PathObservation(steps, options: options, owner: owner, receiver: receiver)
        let observer = observation.observers.makeVersionedObserver(owner: owner, options.marks)
        prepare(observer)
        return observation.start(observer, root: root, isInitialReceived: options.contains(.initial))
    }
}

extension PathObservation {
    /// Registers the user's observer, then links the path, so that no change in between is lost.
    internal func start(_ observer: Observer, root: PathObject, isInitialReceived: Bool) -> ObservationToken {
        setUser(observer)
        _ = observer.whenFinished { [self] _ in drop() }
        // Not before: from here on another thread can end it, as a removal of all of an owner's does.
        observer.register()
        let token = ObservationToken(observer)
        ThreadRecord.withUserCode {
            let deferred = DeferredDeliveries()
            let (value, relayed) = connect(to: root, deferred)
            deferred.releaseKept()
            // What has changed meanwhile is delivered after the initial value.
            if isInitialReceived { deliver(.initial((value, 0)), as: relayed) }
            deferred.deliver()
            deferred.deliverLate()
        }
        return token
    }
}

extension Path: WeaklyNamed {
    var weakSource: WeakSource<Path> { WeakSource(root) { [steps] root in Path(root, steps) } }
}
