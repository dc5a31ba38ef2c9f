// SPDX-License-Identifier: Apache-2.0

#if Etcd
public import ConcurrentObserve
public import CoreMetrics
public import Logging
public import ServiceLifecycle

/// Properties that follow the keys of an etcd cluster, for as long as ``run()`` runs.
///
/// ```swift
/// let mirror = EtcdMirror(.prefix("/flags/"), at: EtcdConfiguration(endpoints: ["http://127.0.0.1:2379"]), coding: .json)
/// let token = mirror.contents.observe { change in print(change.new.revision) }
/// let group = ServiceGroup(services: [mirror], logger: logger)
/// ```
///
/// Each revision of etcd that concerns the range is one change of ``contents``, in etcd's order, none left out and none twice. After an
/// interruption the mirror resumes with the next revision. Where etcd no longer has that revision, or its data were lost, one change brings the
/// contents to what etcd has. <doc:MirrorProtocol> says how.
///
/// Every member may be used from any thread. Observers are called on the mirror's task: one that blocks delays the mirror. Use an ordered
/// delivery for slow work.
public final class EtcdMirror<Value: Sendable>: Service, Sendable {
    let range: EtcdRange
    let configuration: EtcdConfiguration
    let store: MirrorStore<Value>
    let logger: Logger
    let metrics: MirrorMetrics

    private let stateProperty: Observed<EtcdMirrorState>

    private struct Session: Sendable {
        /// Where changes are written to; nil while there is no session that is ready.
        var connection: EtcdConnection?
        /// Since when the present session is ready.
        var readySince: ContinuousClock.Instant?
        /// When a quorum last confirmed that the contents are current.
        var confirmed: ContinuousClock.Instant?
    }
    private let present = Shared(Session())

    /// Makes a mirror, which connects when ``run()`` is called.
    ///
    /// - Parameters:
    ///   - range: The keys.
    ///   - configuration: Where etcd is.
    ///   - coding: What the values are.
    ///   - logger: Changes of the state, and what etcd lost. It is called on the mirror's task.
    ///   - factory: Where the metrics go.
    ///   - label: The properties' label in this library's diagnostics, and the metrics' dimension `mirror`.
    public init(
        _ range: EtcdRange,
        at configuration: EtcdConfiguration,
        coding: EtcdCoding<Value>,
        logger: Logger = Logger(label: "EtcdMirror"),
        factory: any MetricsFactory = MetricsSystem.factory,
        label: String = "etcd"
    ) {
        self.range = range
        self.configuration = configuration
        self.logger = logger
        store = MirrorStore(coding: coding, label: label)
        stateProperty = Observed(.connecting(nil))
        metrics = MirrorMetrics(label: label, factory: factory)
    }

    // MARK: - What it shows

    /// The keys with their values: one change for each revision that concerns them. Version 0 is empty.
    ///
    /// - Complexity: A change copies the dictionary: O(keys).
    public var contents: ReadOnly<EtcdContents<Value>> { store.contents.readOnly }

    /// Whether the contents may count as current.
    public var state: ReadOnly<EtcdMirrorState> { stateProperty.readOnly }

    /// The revision up to which the contents are complete. It also moves when etcd reports that nothing has changed.
    public var position: ReadOnly<Int64> { store.position.readOnly }

    /// A key's last good value, as a property: nil while there is none. The mirror keeps the property.
    ///
    /// It changes after ``contents``, once for each revision that changes the key. Properties of several keys change one after another.
    public func property(_ key: EtcdKey) -> ReadOnly<Value?> { store.property(key).readOnly }

    // MARK: - States

    /// A quorum has confirmed, by an answer to a request that began at this instant, that the contents are current.
    func confirm(_ instant: ContinuousClock.Instant) { present.withLock { $0.confirmed = instant } }

    func becomeReady(_ connection: EtcdConnection, confirmed instant: ContinuousClock.Instant) {
        present.withLock { $0 = Session(connection: connection, readySince: .now, confirmed: instant) }
        guard !stateProperty.value.isReady else { return }
        logger.info("the mirror is ready", metadata: metadata(connection.endpoint))
        metrics.isReady.set(1)
        stateProperty.value = .ready
    }

    /// - Returns: For how long the session had been ready.
    func leave(_ error: EtcdMirrorError) -> Duration {
        let (last, ready): (ContinuousClock.Instant?, Duration) = present.withLock { session in
            defer {
                session.connection = nil
                session.readySince = nil
            }
            return (session.confirmed, session.readySince.map { $0.duration(to: .now) } ?? .zero)
        }
        let next: EtcdMirrorState =
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

    /// The connection of the session that is ready.
    func connection() throws -> EtcdConnection {
        guard let connection = present.withLock({ $0.connection }) else {
            throw EtcdMirrorError(.notConnected, "the mirror is \(stateProperty.value.name): nothing was written")
        }
        return connection
    }

    func metadata(_ endpoint: Endpoint) -> Logger.Metadata {
        ["endpoint": "\(endpoint)", "position": "\(store.position.value)"]
    }
}
#endif
