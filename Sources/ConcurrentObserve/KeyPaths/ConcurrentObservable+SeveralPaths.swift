// SPDX-License-Identifier: Apache-2.0

extension ConcurrentObservable {
    /// Calls `body` with every change of several paths, of whatever types: which one has changed, and the values of all. (P1)
    ///
    /// The values are read when `body` is called, one after the other, and may be newer than the change. When this object is deinitialised, the
    /// observation ends, which `ObservationToken.onEnd(_:)` tells. (P12)
    ///
    /// - Parameters:
    ///   - paths: The steps of each, as in `\.name, \.engine.rpm`.
    ///   - body: Called with the number of the path that has changed, from 0, and the value of each.
    /// - Returns: The token that keeps the observation going.
    public func observe<each Value: Sendable>(
        all paths: repeat PathTo<Self, each Value>,
        body: @escaping @Sendable (_ changed: Int, repeat each Value) -> Void
    ) -> ObservationToken {
        let steps = (repeat ObservedPath<Self, Self>.root[keyPath: each paths])
        var observation = SeveralPaths(self) { root, changed in body(changed, repeat (each steps).value(from: root)) }
        for path in repeat each paths { observation.add(path, of: self) }
        return observation.start()
    }

    /// The same for any number of paths of one type, but for none, which traps.
    public func observe<Value: Sendable>(
        all paths: [PathTo<Self, Value>],
        body: @escaping @Sendable (_ changed: Int, _ values: [Value]) -> Void
    ) -> ObservationToken {
        guard !paths.isEmpty else {
            fatalError("ConcurrentObserve: no path was given to observe. Name at least one, as in [\\.name].")
        }
        let steps = paths.map { ObservedPath<Self, Self>.root[keyPath: $0] }
        var observation = SeveralPaths(self) { root, changed in body(changed, steps.map { $0.value(from: root) }) }
        for path in paths { observation.add(path, of: self) }
        return observation.start()
    }
}

/// A registry whose one observer is told which of several paths has changed.
private struct SeveralPaths<Root: ConcurrentObservable> {
    private let changes = ObserverRegistry<Int>()
    private let token: ObservationToken
    private var tokens: [ObservationToken] = []

    init(_ root: Root, _ body: @escaping @Sendable (Root, _ changed: Int) -> Void) {
        token = changes.observe { [weak root] changed in
            if let root { body(root, changed) }
        }
    }

    mutating func add<Value>(_ path: PathTo<Root, Value>, of root: Root) {
        let (number, changes) = (tokens.count, changes)
        let token = root.observe(path, options: []) { (change: Change<Value>) in
            if change.reason == .sourceDeleted {
                changes.observers.endAll(.sourceDeleted, isSourceGone: false)
            } else {
                changes.notify(number)
            }
        }
        // Who removes the observer from its source ends the whole.
        token.observer.begin(path: changes.observers.core())
        if !token.isActive { self.token.cancel() }
        tokens.append(token)
    }

    /// The observation goes on as long as the token that is returned; with it end those of the paths.
    func start() -> ObservationToken {
        token.onEnd { [tokens, changes] _ in withExtendedLifetime((tokens, changes)) {} }
        return token
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
