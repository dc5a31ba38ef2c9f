// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension ConcurrentObservable {
    /// Calls `body` with every change of several paths, of whatever types: which one has changed,
    /// and the values of all. (P1, P3)
    ///
    /// The calls are made one at a time, in the order in which the changes arrive, as those of
    /// `Delivery.serial(_:)`: on the threads that make the changes, or, of many, on one of the
    /// library's. The values are read when `body` is called, one after the other, and may be newer
    /// than the change. So the last call has the last values of all paths, and what `body` makes of
    /// them is up to date when nothing is pending any more. A change that `body` itself makes is
    /// delivered after it has returned.
    ///
    /// When this object is deinitialised, the observation ends, which `ObservationToken.onEnd(_:)`
    /// tells. (P12)
    ///
    /// - Parameters:
    ///   - paths: The steps of each, as in `\.name, \.engine.rpm`.
    ///   - body: Called with the number of the path that has changed, from 0, and the value of
    ///     each. Under no lock.
    /// - Returns: The token that keeps the observation going.
    public func observe<each Value: Sendable>(
        all paths: repeat PathTo<Self, each Value>,
        body: @escaping @Sendable (_ changed: Int, repeat each Value) -> Void
    ) -> ObservationToken {
        observe(all: repeat each paths, includingInitial: false) {
            (change: CombinedChange, values: repeat each Value) in
            body(change.path!, repeat each values)
        }
    }

    /// Calls `body` with every change of several paths, and first, if it is asked for, with the
    /// values at the registration. (P1, P3, P4)
    ///
    /// As `observe(all:body:)`. The changes have versions: a receiver on another thread can discard
    /// a combination that arrives late.
    ///
    /// - Parameters:
    ///   - paths: The steps of each, as in `\.name, \.engine.rpm`.
    ///   - includingInitial: Whether to begin with the present values, before the call returns.
    ///     (P4)
    ///   - body: Called with what has changed, and the value of each path. Under no lock.
    /// - Returns: The token that keeps the observation going.
    public func observe<each Value: Sendable>(
        all paths: repeat PathTo<Self, each Value>,
        includingInitial: Bool,
        body: @escaping @Sendable (_ change: CombinedChange, repeat each Value) -> Void
    ) -> ObservationToken {
        let steps = (repeat ObservedPath<Self, Self>.root[keyPath: each paths])
        var observation = SeveralPaths(self, includingInitial) { root, change in
            body(change, repeat (each steps).value(from: root))
        }
        for path in repeat each paths { observation.add(path, of: self) }
        return observation.start()
    }

    /// Calls `body` with every change of any number of paths of one type. (P1, P3)
    ///
    /// As `observe(all:body:)` for paths that are named one by one. An empty array traps.
    public func observe<Value: Sendable>(
        all paths: [PathTo<Self, Value>],
        body: @escaping @Sendable (_ changed: Int, _ values: [Value]) -> Void
    ) -> ObservationToken {
        observe(all: paths, includingInitial: false) { (change: CombinedChange, values: [Value]) in
            body(change.path!, values)
        }
    }

    /// Calls `body` with every change of any number of paths of one type, and first, if it is asked
    /// for, with the values at the registration. (P1, P3, P4)
    ///
    /// As `observe(all:includingInitial:body:)` for paths that are named one by one. An empty array
    /// traps.
    public func observe<Value: Sendable>(
        all paths: [PathTo<Self, Value>],
        includingInitial: Bool,
        body: @escaping @Sendable (_ change: CombinedChange, _ values: [Value]) -> Void
    ) -> ObservationToken {
        guard !paths.isEmpty else {
            fatalError("ConcurrentObserve: no path was given to observe. Name at least one, as in [\\.name].")
        }
        let steps = paths.map { ObservedPath<Self, Self>.root[keyPath: $0] }
        var observation = SeveralPaths(self, includingInitial) { root, change in
            body(change, steps.map { $0.value(from: root) })
        }
        for path in paths { observation.add(path, of: self) }
        return observation.start()
    }
}

/// What an observer of several paths is told beside their values.
public struct CombinedChange: Sendable, Hashable {
    /// The number of the path that has changed, from 0; nil in the initial delivery.
    public let path: Int?

    /// The number of the change: 1, 2, 3, … in the order of the calls; 0 for the initial delivery.
    /// The values of a later version are as new or newer, path by path.
    public let version: UInt64
}

/// A registry that is notified of which of several paths has changed, and its one observer, which
/// receives these events one at a time. (P3)
private struct SeveralPaths<Root: ConcurrentObservable> {
    private let changes = ObserverRegistry<Int?>()
    private let observation = SerialObservation<Int?>(.unbounded)
    private let token: ObservationToken
    private var tokens: [ObservationToken] = []
    private let includesInitial: Bool
    /// For a seeded bug.
    private let direct: (@Sendable (Int) -> Void)?

    init(
        _ root: Root,
        _ includesInitial: Bool,
        _ body: @escaping @Sendable (Root, CombinedChange) -> Void
    ) {
        self.includesInitial = includesInitial
        let version = CombinedVersion()
        let tell: @Sendable (Int?) -> Void = { [weak root] path in
            if let root { body(root, CombinedChange(path: path, version: path == nil ? 0 : version.next())) }
        }
        direct = mutant(.severalPathsAreToldAtOnce) ? tell : nil
        observation.makeUser(owner: nil).setCallback(Callback(tell))
        token = changes.start(observation)
        // Until all paths are observed: an earlier delivery would miss changes of the others.
        observation.hold()
        if includesInitial, !mutant(.theInitialValuesOfSeveralPathsComeWhenTheyCome) { observation.post(nil) }
    }

    mutating func add<Value>(_ path: PathTo<Root, Value>, of root: Root) {
        let (number, changes, observation, direct) = (tokens.count, changes, observation, direct)
        let token = root.observe(path) { (_: Change<Value>) in
            if let direct { direct(number) } else { changes.notify(number) }
        }
        token.onEnd { end in
            guard end == .sourceDeleted else { return }
            observation.postEnd()
            observation.attend()
        }
        // Who removes the observer from its source ends the whole.
        token.observer.begin(path: changes.observers.core())
        if !token.isActive { self.token.cancel() }
        tokens.append(token)
    }

    /// The observation goes on as long as the token that is returned; with it end those of the paths.
    func start() -> ObservationToken {
        token.onEnd { [tokens, changes] _ in withExtendedLifetime((tokens, changes)) {} }
        if includesInitial, mutant(.theInitialValuesOfSeveralPathsComeWhenTheyCome) { observation.post(nil) }
        observation.begin()
        return token
    }
}

/// The version of a combination.
private final class CombinedVersion: Sendable {
    private let version = Atomic<UInt64>(0)

    func next() -> UInt64 {
        // Relaxed: one callback at a time; the mailbox's lock orders them.
        version.add(1, ordering: .relaxed).newValue
    }
}

extension ObservedPath {
    /// The path's present value.
    fileprivate func value(from root: Root) -> Value {
        var object: PathObject? = root
        for link in links {
            guard let present = object else { break }
            object = link.sample(link.property(in: present)).object
        }
        return object.flatMap { object in last.map { $0.value(of: $0.property(in: object)) } } ?? absent!
    }
}
