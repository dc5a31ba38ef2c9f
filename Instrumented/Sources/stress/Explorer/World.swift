// SPDX-License-Identifier: Apache-2.0

/// The state of one run of a program on registries, and the promises that it must keep.
///
/// Operations are stamped at their begin and at their end. One thread runs at a time, so the stamps
/// show the order of events. They show which events each observer had to receive, could receive,
/// and must not have received. (P1, P8)
final class World: ProgramPart, @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    let backend: LibraryBackend

    private var clock = 0
    private var registries: [Registry: ObserverRegistry<Int>] = [:]
    private var observations: [Observation] = []
    private var notifications: [Notification] = []
    /// The closures, each with several references, because a bug may release one too many.
    private var closures: [[Any]] = []

    /// The name of a registry. The registry is made when it is first observed.
    enum Registry { case first, second }

    /// An observation, from before the call of `observe` until after its end.
    private final class Observation: @unchecked Sendable {
        let name: String
        let registry: Registry
        var token: ObservationToken?
        var observeBegan = 0
        var observeReturned: Int?
        var endBegan: Int?
        var cancelReturned: Int?
        /// Whether no thread may call the closure any more.
        var isDead = false
        var calls: [Int: Int] = [:]
        /// The number of times that the end was delivered, for each listener.
        var ends: [Int] = []

        init(_ name: String, _ registry: Registry) { (self.name, self.registry) = (name, registry) }
    }

    private struct Notification {
        let registry: Registry
        let began: Int
        var returned: Int?
    }

    init(_ backend: LibraryBackend) { self.backend = backend }

    private func tick() -> Int {
        clock += 1
        return clock
    }

    private subscript(name: String) -> Observation { observations.first { $0.name == name }! }

    // MARK: Operations

    /// Registers an observer whose callback calls `body`.
    ///
    /// - Parameter listens: Whether to add a listener for its end at once.
    func observe(
        _ name: String,
        at place: Registry = .first,
        listens: Bool = true,
        _ body: @escaping @Sendable (World) -> Void = { _ in }
    ) {
        let observation = Observation(name, place)
        let registry = registries[place] ?? ObserverRegistry<Int>()
        registries[place] = registry
        observations.append(observation)
        let closure: @Sendable (Int) -> Void = { [self] notification in
            observation.calls[notification, default: 0] += 1
            checkCallable(observation, "is called after")
            checkCallback(name)
            step("in the callback")
            body(self)
            checkCallable(observation, "was running when")
        }
        closures.append([closure, closure, closure])
        observation.observeBegan = tick()
        observation.token = registry.observe(closure)
        if listens { listen(name) }
        observation.observeReturned = tick()
    }

    private func checkCallable(_ observation: Observation, _ moment: String) {
        check(!observation.isDead, "P9.nothing-after-wait", "\(observation.name) \(moment) cancelAndWait returned")
    }

    /// Adds another listener for the end of an observation.
    func listen(_ name: String) {
        let observation = self[name]
        let listener = observation.ends.count
        observation.ends.append(0)
        observation.token!.onEnd { [self] _ in
            observation.ends[listener] += 1
            check(observation.ends[listener] == 1, "P12.end-once", "\(name)'s end is delivered twice")
        }
    }

    func notify(_ place: Registry = .first) {
        guard let registry = registries[place] else { return }
        let number = notifications.count
        notifications.append(Notification(registry: place, began: tick()))
        registry.notify(number)
        notifications[number].returned = tick()
    }

    func cancel(_ name: String) { cancel(self[name]) }

    private func cancel(_ observation: Observation) {
        noteEnd(observation)
        observation.token!.cancel()
        observation.cancelReturned = observation.cancelReturned ?? tick()
        check(!observation.token!.isActive, "P8.inactive", "\(observation.name)'s token is active after cancel")
    }

    /// Ends an observation with `cancelAndWait`, and checks the result.
    ///
    /// - Parameter isInCallback: Whether the caller is in a callback, where the call must not wait.
    ///   (P9)
    func cancelAndWait(_ name: String, isInCallback: Bool = false) {
        let observation = self[name]
        let token = observation.token!
        noteEnd(observation)
        let outcome = token.cancelAndWaitBlocking()
        observation.cancelReturned = observation.cancelReturned ?? tick()
        if isInCallback {
            return check(outcome == .deferred, "P9.deferred-in-callback", "cancelAndWait in a callback: \(outcome)")
        }
        check(outcome == .finished, "P9.outcome", "cancelAndWait outside callbacks returned \(outcome)")
        let count = backend.destructions(of: token)
        check(count == 1, "P9.closure-destroyed", "\(name)'s closure was destroyed \(count) times at the return")
        observation.isDead = true
    }

    /// Releases the first registry.
    func drop() {
        for observation in observations where observation.registry == .first { noteEnd(observation) }
        // Released outside the access to the dictionary, because other threads run while the
        // registry ends.
        let registry = registries.removeValue(forKey: .first)
        withExtendedLifetime(registry) {}
    }

    func drain() { backend.drain() }

    func countBacklog() {
        let backlog = ConcurrentObserveDiagnostics.current().backlog
        check(backlog >= 0, "P16.backlog-counts", "\(-backlog) more items are reclaimed than retired")
    }

    private func noteEnd(_ observation: Observation) { observation.endBegan = observation.endBegan ?? tick() }

    // MARK: At rest

    /// Checks which events each observer has received, and ends everything.
    func end() {
        for place in [Registry.first, .second] { notify(place) }
        for (number, notification) in notifications.enumerated() {
            for observation in observations where observation.registry == notification.registry {
                checkCalls(observation, number, notification)
            }
        }
        for observation in observations where observation.endBegan == nil { cancel(observation) }
    }

    /// Checks that nothing is left. Called when everything is at rest after `end()`.
    func checkEnded() {
        for observation in observations {
            checkEnded(observation.token!, observation.name)
            check(observation.ends.allSatisfy { $0 == 1 }, "P12.end-once") {
                "\(observation.name)'s end was delivered \(observation.ends) times to its listeners"
            }
        }
        // Breaks the cycles between closures and observations.
        (observations, closures, registries) = ([], [], [:])
    }

    private func checkCalls(_ observation: Observation, _ number: Int, _ notification: Notification) {
        let calls = observation.calls[number] ?? 0
        let subject = "\(observation.name) received notification \(number + 1)"
        check(calls <= 1, "P1.exactly-once", "\(subject) \(calls) times")
        if let observed = observation.observeReturned, observed < notification.began,
            observation.endBegan.map({ $0 > notification.returned! }) ?? true
        {
            check(calls == 1, "P1.exactly-once", "\(subject) \(calls) times")
        }
        if let cancelled = observation.cancelReturned, cancelled < notification.began {
            check(calls == 0, "P8.silent-after-cancel", "\(subject), which began after cancel returned")
        }
        if observation.observeBegan > notification.returned! {
            check(calls == 0, "P1.exactly-once", "\(subject), which was over before")
        }
    }
}

extension LibraryProgram {
    /// Makes a program on registries.
    static func registry(
        _ name: String,
        _ summary: String,
        allowsFaults: Bool = false,
        setUp: @escaping @Sendable (World) -> Void = { $0.observe("X") },
        _ threads: Operations<World>...
    ) -> LibraryProgram {
        LibraryProgram(
            name,
            summary,
            allowsFaults: allowsFaults,
            in: World.init,
            setUp: setUp,
            threads: threads,
            rest: [{ $0.end() }, { $0.checkEnded() }]
        )
    }
}
