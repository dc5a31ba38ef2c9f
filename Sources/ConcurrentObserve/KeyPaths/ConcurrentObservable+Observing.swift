// SPDX-License-Identifier: Apache-2.0

extension ConcurrentObservable {
    /// Calls `body` with every change of the property that `path` leads to, wherever it leads. (P1, P2, P4)
    ///
    /// When a step before the last is replaced, from any thread, `body` hears `.pathChanged`, with the value there and the one before, and then
    /// the changes of the new property; those of the old one it does not hear any more. A step that is nil makes the value nil. Changes of the
    /// path have versions of their own, 1, 2, 3, …, `old` being `new` of the one before; a path of one step is the property itself, and has its
    /// versions. A change that races with a replacement may be folded into the `.pathChanged`, and two replacements that race into one. When
    /// this object is deinitialised, `body` hears `.sourceDeleted`, the last. (P12) It is not retained, nor are the objects on the way. (P11)
    ///
    /// - Parameters:
    ///   - path: The steps, as in `\.engine.rpm`.
    ///   - options: What to hear. `.initial` is delivered once, at version 0; `.prior` precedes changes of the last property.
    ///   - body: Called under no lock, on the threads that make the changes, possibly on several at once; `.pathChanged` possibly on another
    ///     one that replaces a step at the same time, or, when replacements keep racing, on one of the library's own: `drain` waits for that.
    /// - Returns: The token that keeps the observation going.
    /// - Complexity: O(steps). A replacement: O(steps below it).
    @inlinable
    public func observe<Value: Sendable>(
        _ path: PathTo<Self, Value>,
        options: ObservationOptions = [],
        _ body: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        observe(path, options: options, owner: nil) { _ in Callback(body) }
    }

    /// The same, with a closure that also receives its observation, to end it from within.
    @inlinable
    public func observe<Value: Sendable>(
        _ path: PathTo<Self, Value>,
        options: ObservationOptions = [],
        _ body: @escaping @Sendable (Change<Value>, ObservationHandle) -> Void
    ) -> ObservationToken {
        observe(path, options: options, owner: nil) { observer in
            let handle = ObservationHandle(observer)
            return Callback { change in body(change, handle) }
        }
    }

    /// The same for as long as `owner` lives, too; `body` receives it. (P13)
    @inlinable
    public func observe<Owner: AnyObject & Sendable, Value: Sendable>(
        _ path: PathTo<Self, Value>,
        owner: Owner,
        options: ObservationOptions = [],
        _ body: @escaping @Sendable (Owner, Change<Value>) -> Void
    ) -> ObservationToken {
        let reference = WeakReference(owner)
        return observe(path, options: options, owner: reference) { observer in
            .bound(to: reference, of: observer, body)
        }
    }

    @inlinable
    internal func observe<Value: Sendable>(
        _ path: PathTo<Self, Value>,
        options: ObservationOptions,
        owner: WeakReference?,
        _ callback: (Observer) -> Callback<Change<Value>>
    ) -> ObservationToken {
        let steps = ObservedPath<Self, Self>.root[keyPath: path]
        if let property = steps.directProperty(of: self) {
            let observer = property.makeObserver(options, owner: owner)
            observer.setCallback(callback(observer))
            return property.start(observer, options)
        }
        return observe(along: steps, options: options, owner: owner, callback)
    }

    /// Observes a path that is not one property alone.
    @inlinable
    internal func observe<Value: Sendable>(
        along path: ObservedPath<Self, Value>,
        options: ObservationOptions,
        owner: WeakReference?,
        posting: PathPosting<Value>? = nil,
        _ callback: (Observer) -> Callback<Change<Value>>
    ) -> ObservationToken {
        guard let observation = PathObservation(path, options: options, owner: owner, posting: posting) else {
            fatalError("ConcurrentObserve: a path needs a step. Name a property, as in \\.name.")
        }
        let observer = observation.observers.makeVersionedObserver(owner: owner, hears: options.marks)
        observer.setCallback(callback(observer))
        return observation.start(observer, root: self, isInitialHeard: options.contains(.initial))
    }
}

extension PathObservation {
    /// Registers the user's observer, then wires the path, so that no change in between is lost.
    @usableFromInline
    internal func start(_ observer: Observer, root: PathObject, isInitialHeard: Bool) -> ObservationToken {
        setUser(observer)
        _ = observer.whenFinished { [self] _ in drop() }
        // Not before: from here on another thread can end it, as whoever ends all of an owner's.
        observer.register()
        let token = ObservationToken(observer)
        ThreadRecord.withUserCode {
            let rewirings = Rewirings()
            var initial: Change<Value>?
            rewirings.collect { initial = Change(reason: .initial, old: nil, new: connect(to: root), version: 0) }
            // What has changed meanwhile is told after the initial value.
            if isInitialHeard, let initial { tell(initial) }
            rewirings.tell()
            rewirings.tellLate()
        }
        return token
    }
}
