// SPDX-License-Identifier: Apache-2.0

#if Etcd
public import ConcurrentObserve
public import CoreMetrics
public import Logging
public import ServiceLifecycle

/// Follows the keys of an engine in observable properties, while ``run()`` runs.
///
/// ```swift
/// let etcd = EtcdConfiguration(endpoints: ["http://127.0.0.1:2379"])
/// let mirror = EtcdMirror(.prefix("/flags/"), at: etcd, coding: .json)
/// let token = mirror.contents.observe { change in print(change.new.revision) }
/// let group = ServiceGroup(services: [mirror], logger: logger)
/// ```
///
/// Each revision that changes the mirror's keys is one change of ``contents``. The changes come in
/// the engine's order: none is left out, and none comes twice. After an interruption, the mirror
/// resumes with the next revision. If the engine no longer has that revision, or has lost data, one
/// change brings the contents to the engine's present keys. <doc:MirrorProtocol> describes this.
///
/// Any thread may use every member. Observers are called on the mirror's task, so an observer that
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
        /// The session through which changes are written; nil if no session is ready.
        var session: Engine.Session?
        /// The instant at which the present session became ready; nil if it is not ready.
        var readySince: ContinuousClock.Instant?
        /// The latest instant for which the contents are confirmed; nil if there is none.
        var confirmed: ContinuousClock.Instant?
        /// The number of changes that are using a session.
        var changes = 0
        /// The number of the present session, counted from 1.
        var number = 0
        /// The number of a session that takes no more changes, because the mirror moves to another
        /// server. Nil if there is none.
        var movingFrom: Int?
        /// Whether the next session must list, because the last watch did not deliver changes.
        var mustList = false
        /// The instant at which the last list ended.
        var listed: ContinuousClock.Instant?
    }
    let present = Observed(Present())

    /// The latest instant that a caller of ``waitUntilCurrent(within:)`` waits to see confirmed.
    let wanted = Observed<ContinuousClock.Instant?>(nil)

    /// Makes a mirror. It connects when ``run()`` is called.
    ///
    /// - Parameters:
    ///   - engine: The engine to follow.
    ///   - configuration: The settings that do not depend on the engine.
    ///   - coding: Converts values to bytes, and bytes to values.
    ///   - logger: Logs changes of the state, malformed values, and lost data. It is called on the
    ///     mirror's task.
    ///   - factory: Makes the metrics.
    ///   - label: The label of ``contents`` in this library's diagnostics, and the value of the
    ///     metrics' dimension `mirror`.
    ///   - clock: Measures all pauses and limits of the mirror, and the age of the contents. It
    ///     does not measure waits inside the engine. The instants of ``state`` and ``lag`` are the
    ///     system's time of this call, plus the time that this clock has measured since. The clock
    ///     must not go back. Its `sleep` must throw if its task is cancelled, and only then:
    ///     otherwise the mirror would not pause. The mirror calls the clock on any thread, under no
    ///     lock.
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

    // MARK: - Properties

    /// The keys with their values. Each revision that changes them is one change of this property.
    /// Version 0 has no keys.
    ///
    /// - Complexity: The change of a revision takes O(*k*) for *k* changed keys, however many keys
    ///   there are.
    public var contents: ReadOnly<MirrorContents<Value>> { store.contents.readOnly }

    /// Whether the contents count as current, and if not, the reason.
    public var state: ReadOnly<MirrorState> { stateProperty.readOnly }

    /// The revisions and the time by which the contents may be behind. While the mirror is `ready`,
    /// they are behind by at most ``MirrorConfiguration/longestAge``. The property changes with
    /// each probe.
    public var lag: ReadOnly<MirrorLag> { lagProperty.readOnly }

    /// The revision up to which the contents are complete. It also moves when the engine reports
    /// that no key has changed.
    public var position: ReadOnly<Int64> { store.position.readOnly }

    /// Returns a property with a key's last good value, or nil while there is none. The mirror
    /// keeps the property, and returns the same one for equal keys.
    ///
    /// The property changes after ``contents``, once for each revision that changes the key. The
    /// properties of several keys change one after another.
    public func property(_ key: MirrorKey) -> ReadOnly<Value?> { store.property(key).readOnly }

    // MARK: - States

    func becomeReady(_ session: Engine.Session) {
        // The clock may be the user's code, so it is not called under the property's lock. (P5)
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

    /// Repeatedly reports how old the contents may be. Makes the mirror stale if they were not
    /// confirmed for ``MirrorConfiguration/longestAge``. So `ready` stays true to its promise even
    /// if a session hangs.
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
        // Another thread may have changed the state since.
        stateProperty.modify { if $0.isReady { $0 = .stale(since: confirmed, error) } }
        metrics.isReady.set(0)
        logger.warning("the mirror is stale", metadata: ["error": "\(error)"])
    }

    /// Stops new changes through the session, and waits for the running ones, for at most
    /// ``MirrorConfiguration/requestTimeout``. The state does not change, because another session
    /// begins at once.
    func suspend() async {
        present.modify { present in
            present.session = nil
            present.readySince = nil
            present.movingFrom = present.number
        }
        try? await wait(for: present.readOnly, within: configuration.requestTimeout, "") { $0.changes == 0 }
    }

    /// Notes that the session has ended with an error, and sets the state that follows from the
    /// error.
    ///
    /// - Returns: The time for which the session was ready.
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
        // Repeated failures with the same code do not change the state.
        guard before.name != next.name || before.error?.code != error.code else { return ready }
        logger.log(
            level: error.isCurable ? .warning : .error,
            "the mirror is \(next.name)",
            metadata: ["error": "\(error)"]
        )
        stateProperty.value = next
        return ready
    }

    /// Lends the session that is ready, for a change. If the mirror is moving to another server,
    /// waits for the next session, for at most ``MirrorConfiguration/requestTimeout``.
    ///
    /// - Throws: `MirrorError` of the code `notConnected` if no session is ready. Otherwise the
    ///   error that `body` throws.
    func withSession<Result>(_ body: (Engine.Session) async throws -> Result) async throws -> Result {
        if present.value.movingFrom != nil {
            try? await wait(for: present.readOnly, within: configuration.requestTimeout, "") { $0.movingFrom == nil }
            try Task.checkCancellation()
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
