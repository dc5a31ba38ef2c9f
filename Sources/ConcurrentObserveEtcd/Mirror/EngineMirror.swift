// SPDX-License-Identifier: Apache-2.0

#if Etcd
public import ConcurrentObserve
public import CoreMetrics
public import Logging
public import ServiceLifecycle

/// Properties that follow the keys of an engine, for as long as ``run()`` runs.
///
/// ```swift
/// let etcd = EtcdConfiguration(endpoints: ["http://127.0.0.1:2379"])
/// let mirror = EtcdMirror(.prefix("/flags/"), at: etcd, coding: .json)
/// let token = mirror.contents.observe { change in print(change.new.revision) }
/// let group = ServiceGroup(services: [mirror], logger: logger)
/// ```
///
/// Each revision that concerns the mirror's keys is one change of ``contents``, in the engine's
/// order, none left out and none twice. After an interruption the mirror resumes with the next
/// revision. Where the engine no longer has that revision, or its data were lost, one change brings
/// the contents to what the engine has. <doc:MirrorProtocol> says how.
///
/// Every member may be used from any thread. Observers are called on the mirror's task: one that
/// blocks delays the mirror. Use an ordered delivery for slow work.
public final class EngineMirror<Engine: MirrorEngine, Value: Sendable>: Service, Sendable {
    let engine: Engine
    let configuration: MirrorConfiguration
    let store: MirrorStore<Value>
    let logger: Logger
    let metrics: MirrorMetrics
    let clock: MirrorClock

    private let stateProperty: Observed<MirrorState>

    let lagProperty: Observed<MirrorLag>

    struct Present: Sendable {
        /// Where changes are written to; nil while there is no session that is ready.
        var session: Engine.Session?
        /// Since when the present session is ready.
        var readySince: ContinuousClock.Instant?
        /// When the engine last confirmed that the contents are current.
        var confirmed: ContinuousClock.Instant?
        /// How many changes use a session.
        var changes = 0
        /// Counts sessions.
        var number = 0
        /// The session that ends so that another begins at once: it takes no more changes.
        var movingFrom: Int?
        /// Whether the next session has to list, since the watch of the last one brought nothing.
        var mustList = false
        /// When the last list ended.
        var listed: ContinuousClock.Instant?
    }
    let present = Observed(Present())

    /// The latest instant for which a caller waits to be confirmed.
    let wanted = Observed<ContinuousClock.Instant?>(nil)

    /// Makes a mirror, which connects when ``run()`` is called.
    ///
    /// - Parameters:
    ///   - engine: The engine that it follows.
    ///   - configuration: How it follows the engine.
    ///   - coding: How values become bytes, and bytes values.
    ///   - logger: Changes of the state, and what the engine lost. It is called on the mirror's
    ///     task.
    ///   - factory: Where the metrics go.
    ///   - label: The properties' label in this library's diagnostics, and the metrics' dimension
    ///     `mirror`.
    ///   - clock: Measures every pause, every limit and the age of the contents: the durations of
    ///     ``MirrorConfiguration``, and the limits of the waits. What the engine itself waits for
    ///     is not the mirror's. The instants of ``state`` and ``lag`` count the clock's time from
    ///     this call on. The clock never goes back. Its `sleep` throws once its task is cancelled,
    ///     and at no other time: the mirror would not pause. The mirror calls the clock on any
    ///     thread, under no lock.
    public init(
        following engine: Engine,
        configuration: MirrorConfiguration = MirrorConfiguration(),
        coding: MirrorCoding<Value>,
        logger: Logger = Logger(label: "EngineMirror"),
        factory: any MetricsFactory = MetricsSystem.factory,
        label: String = Engine.name,
        clock: some Clock<Duration> = ContinuousClock()
    ) {
        self.engine = engine
        self.clock = MirrorClock(clock)
        self.configuration = configuration
        self.logger = logger
        store = MirrorStore(coding: coding, label: label)
        stateProperty = Observed(.connecting(nil))
        lagProperty = Observed(MirrorLag(clock: self.clock))
        metrics = MirrorMetrics(engine: Engine.name, label: label, factory: factory)
    }

    // MARK: - What it shows

    /// The keys with their values: one change for each revision that concerns them. Version 0 is
    /// empty.
    ///
    /// - Complexity: A change takes O(keys that it changes), however many there are.
    public var contents: ReadOnly<MirrorContents<Value>> { store.contents.readOnly }

    /// Whether the contents may count as current.
    public var state: ReadOnly<MirrorState> { stateProperty.readOnly }

    /// How far the contents may be behind, in revisions and in time. A mirror that is `ready` is
    /// not behind for longer than ``MirrorConfiguration/longestAge``. It changes with each probe.
    public var lag: ReadOnly<MirrorLag> { lagProperty.readOnly }

    /// The revision up to which the contents are complete. It also moves when the engine reports
    /// that nothing has changed.
    public var position: ReadOnly<Int64> { store.position.readOnly }

    /// A key's last good value, as a property: nil while there is none. The mirror keeps the
    /// property.
    ///
    /// It changes after ``contents``, once for each revision that changes the key. Properties of
    /// several keys change one after another.
    public func property(_ key: MirrorKey) -> ReadOnly<Value?> { store.property(key).readOnly }

    // MARK: - States

    func becomeReady(_ session: Engine.Session) {
        // A user's clock is not called under the property's lock. (P5)
        let now = clock.now
        present.modify { present in
            guard present.movingFrom != present.number else { return }
            present.session = session
            present.movingFrom = nil
            present.readySince = present.readySince ?? now
        }
        guard !stateProperty.value.isReady else { return }
        logger.info("the mirror is ready", metadata: metadata)
        metrics.isReady.set(1)
        stateProperty.value = .ready
    }

    /// Reports again and again how old the contents may be. Makes the mirror stale when nothing has
    /// confirmed them for too long, so that `ready` is true whatever the session waits for.
    func watchAge() async {
        while !Task.isCancelled {
            var pause = configuration.probeInterval
            if let confirmed = present.value.confirmed {
                let age = confirmed.duration(to: clock.now)
                metrics.behindSeconds.set(age / .seconds(1))
                if age >= configuration.longestAge {
                    expire(confirmed)
                } else {
                    pause = min(pause, configuration.longestAge - age)
                }
            }
            try? await clock.sleep(for: pause)
        }
    }

    private func expire(_ confirmed: ContinuousClock.Instant) {
        guard stateProperty.value.isReady else { return }
        let error = MirrorError(.behind, "the contents were not confirmed for \(configuration.longestAge)")
        // Another thread may have left the state since.
        stateProperty.modify { if $0.isReady { $0 = .stale(since: confirmed, error) } }
        metrics.isReady.set(0)
        logger.warning("the mirror is stale", metadata: ["error": "\(error)"])
    }

    /// Keeps the session from new changes, and waits for those that are under way: another session
    /// begins at once. The state stays what it is.
    func suspend() async {
        present.modify { present in
            present.session = nil
            present.readySince = nil
            present.movingFrom = present.number
        }
        try? await wait(for: present.readOnly, within: configuration.requestTimeout, "") { $0.changes == 0 }
    }

    /// Ends the session with an error, and sets the state that follows from it.
    ///
    /// - Returns: How long the session had been ready.
    func leave(_ error: MirrorError) -> Duration {
        let now = clock.now
        let (last, ready): (ContinuousClock.Instant?, Duration) = present.modify { present in
            defer {
                present.session = nil
                present.readySince = nil
                present.movingFrom = nil
            }
            if error.code == .behind { present.mustList = true }
            return (present.confirmed, present.readySince.map { $0.duration(to: now) } ?? .zero)
        }
        let next: MirrorState =
            switch (last, error.isCurable) {
            case (_, false): .failed(since: last, error)
            case (nil, true): .connecting(error)
            case (let last?, true): .stale(since: last, error)
            }
        metrics.isReady.set(0)
        let before = stateProperty.value
        // One attempt after another that fails for one reason is one state.
        guard before.name != next.name || before.error?.code != error.code else { return ready }
        logger.log(
            level: error.isCurable ? .warning : .error,
            "the mirror is \(next.name)",
            metadata: ["error": "\(error)"]
        )
        stateProperty.value = next
        return ready
    }

    /// Lends the session that is ready, for a change. Waits for one that begins where another has
    /// just ended for it.
    func withSession<Result>(_ body: (Engine.Session) async throws -> Result) async throws -> Result {
        if present.value.movingFrom != nil {
            try? await wait(for: present.readOnly, within: configuration.requestTimeout, "") { $0.movingFrom == nil }
        }
        let session = present.modify { present in
            if present.session != nil { present.changes += 1 }
            return present.session
        }
        guard let session else {
            throw MirrorError(.notConnected, "the mirror is \(stateProperty.value.name): nothing was written")
        }
        defer { present.modify { $0.changes -= 1 } }
        return try await body(session)
    }

    var metadata: Logger.Metadata { ["engine": "\(Engine.name)", "position": "\(store.position.value)"] }
}
#endif
