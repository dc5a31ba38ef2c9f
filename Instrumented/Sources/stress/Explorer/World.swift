// SPDX-License-Identifier: Apache-2.0

/// The state of one run of a program on registries, and the promises that it must keep.
///
/// Operations are stamped at their begin and end. One thread runs at a time, so the stamps are the
/// order in which things happened: they say what each observer had to receive, could receive, and
/// must not have received. (P1, P8)
final class World: @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    let scheduler: ControlledScheduler
    let backend: LibraryBackend

    private var clock = 0
    private var sources: [Source] = []
    private var observations: [Observation] = []
    private var notifications: [Notification] = []
    /// Closures, several references to each: a bug may release one too many.
    private var closures: [[Any]] = []

    final class Source: @unchecked Sendable {
        fileprivate(set) var registry: ObserverRegistry<Int>? = ObserverRegistry<Int>()
        fileprivate init() {}
    }

    func makeSource() -> Source {
        sources.append(Source())
        return sources.last!
    }

    /// An observation, from before `observe` to after its end.
    final class Observation: @unchecked Sendable {
        let name: String
        let source: Source
        fileprivate(set) var token: ObservationToken?
        fileprivate var observeBegan = 0
        fileprivate var observeReturned: Int?
        fileprivate var endBegan: Int?
        fileprivate var cancelReturned: Int?
        /// Nothing may call it any more.
        fileprivate var isDead = false
        fileprivate var calls: [Int: Int] = [:]
        /// How often the end was delivered to each listener.
        fileprivate var ends: [Int] = []

        fileprivate init(_ name: String, _ source: Source) { (self.name, self.source) = (name, source) }
    }

    private struct Notification {
        let source: Source
        let began: Int
        var returned: Int?
    }

    init(_ backend: LibraryBackend) {
        self.backend = backend
        scheduler = backend.scheduler
    }

    private func tick() -> Int {
        clock += 1
        return clock
    }

    /// A step of user code.
    func step(_ name: StaticString) { backend.userStep(name) }

    func check(_ holds: Bool, _ invariant: String, _ message: @autoclosure () -> String) {
        if !holds { scheduler.fail(invariant, message()) }
    }

    // MARK: Operations

    /// Registers an observer whose callback does `body`.
    ///
    /// - Parameter listens: Whether to ask for its end at once.
    @discardableResult
    func observe(
        _ source: Source,
        _ name: String,
        listens: Bool = true,
        _ body: @escaping @Sendable (World) -> Void = { _ in }
    ) -> Observation {
        let observation = Observation(name, source)
        guard let registry = source.registry else { return observation }
        observations.append(observation)
        let closure: @Sendable (Int) -> Void = { [self] notification in
            called(observation, notification)
            step("in the callback")
            body(self)
            returned(observation)
        }
        closures.append([closure, closure, closure])
        observation.observeBegan = tick()
        observation.token = registry.observe(closure)
        if listens { listen(observation) }
        observation.observeReturned = tick()
        return observation
    }

    /// Adds one more listener for an observation's end.
    func listen(_ observation: Observation) {
        guard let token = observation.token else { return }
        let listener = observation.ends.count
        observation.ends.append(0)
        token.onEnd { [self] _ in
            observation.ends[listener] += 1
            check(observation.ends[listener] == 1, "P12.end-once", "\(observation.name)'s end is delivered twice")
        }
    }

    func notify(_ source: Source) {
        guard let registry = source.registry else { return }
        let number = notifications.count
        notifications.append(Notification(source: source, began: tick()))
        registry.notify(number)
        notifications[number].returned = tick()
    }

    func cancel(_ observation: Observation) {
        guard let token = observation.token else { return }
        noteEnd(observation)
        token.cancel()
        observation.cancelReturned = observation.cancelReturned ?? tick()
        check(!token.isActive, "P8.inactive", "\(observation.name)'s token is active after cancel")
    }

    /// - Parameter isInCallback: Whether the call comes from a callback, and must not wait. (P9)
    func cancelAndWait(_ observation: Observation, isInCallback: Bool = false) {
        guard let token = observation.token else { return }
        noteEnd(observation)
        let outcome = token.cancelAndWaitBlocking()
        observation.cancelReturned = observation.cancelReturned ?? tick()
        guard !isInCallback else {
            return check(
                outcome == .deferred,
                "P9.deferred-in-callback",
                "cancelAndWait in a callback returned \(outcome)"
            )
        }
        check(outcome == .finished, "P9.outcome", "cancelAndWait outside callbacks returned \(outcome)")
        check(
            backend.destructions(of: token) == 1,
            "P9.closure-destroyed",
            "\(observation.name)'s closure was destroyed \(backend.destructions(of: token)) times at the return"
        )
        observation.isDead = true
    }

    /// Releases a registry.
    func drop(_ source: Source) {
        for observation in observations where observation.source === source { noteEnd(observation) }
        source.registry = nil
    }

    func drain() { backend.drain() }

    func countBacklog() {
        let backlog = ConcurrentObserveDiagnostics.current().backlog
        check(backlog >= 0, "P16.backlog-counts", "\(-backlog) more items are reclaimed than retired")
    }

    private func noteEnd(_ observation: Observation) { observation.endBegan = observation.endBegan ?? tick() }

    private func called(_ observation: Observation, _ notification: Int) {
        observation.calls[notification, default: 0] += 1
        check(
            !observation.isDead,
            "P9.nothing-after-wait",
            "\(observation.name) is called after cancelAndWait returned"
        )
        check(
            Instrumentation.forbiddenDepth == 0,
            "P5.no-lock-around-user-code",
            "\(observation.name) is called under a lock or in a read section"
        )
    }

    private func returned(_ observation: Observation) {
        check(
            !observation.isDead,
            "P9.nothing-after-wait",
            "\(observation.name) was running when cancelAndWait returned"
        )
    }

    // MARK: At rest

    /// Checks which observers were called with what, and ends everything. When that has come to
    /// rest, it checks that nothing is left.
    var rest: [() -> Void] { [end, checkEnded] }

    private func end() {
        for source in sources where source.registry != nil { notify(source) }
        for (number, notification) in notifications.enumerated() {
            for observation in observations where observation.source === notification.source {
                checkCalls(observation, number, notification)
            }
        }
        for observation in observations where observation.endBegan == nil { cancel(observation) }
    }

    private func checkEnded() {
        for observation in observations {
            let token = observation.token!
            check(!token.isActive, "P12.inactive", "\(observation.name)'s token is active at the end")
            let destructions = backend.destructions(of: token)
            check(
                destructions == 1,
                "P14.destroyed-once",
                "\(observation.name)'s closure was destroyed \(destructions) times at the end"
            )
            check(
                observation.ends.allSatisfy { $0 == 1 },
                "P12.end-once",
                "\(observation.name)'s end was delivered \(observation.ends) times to its listeners"
            )
        }
        // Breaks the cycles between closures and observations.
        observations = []
        closures = []
        sources = []
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
