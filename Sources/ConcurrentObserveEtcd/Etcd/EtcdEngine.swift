// SPDX-License-Identifier: Apache-2.0

#if Etcd
public import CoreMetrics
public import Logging

/// A mirror of keys of an etcd cluster: properties that follow the keys. Each revision of etcd is
/// one change.
public typealias EtcdMirror<Value: Sendable> = EngineMirror<EtcdEngine, Value>

extension EngineMirror where Engine == EtcdEngine {
    /// Makes a mirror of etcd. It connects when ``run()`` is called.
    ///
    /// - Parameters:
    ///   - range: The keys to follow.
    ///   - configuration: The addresses of the cluster, and the settings of the mirror.
    ///   - coding: Converts values to bytes, and bytes to values.
    ///   - logger: Logs changes of the state, malformed values, and lost data. It is called on the
    ///     mirror's task.
    ///   - factory: Makes the metrics.
    ///   - label: The label of ``contents`` in this library's diagnostics, and the value of the
    ///     metrics' dimension `mirror`.
    ///   - clock: Measures the mirror's pauses and limits: see
    ///     ``init(following:configuration:coding:logger:factory:label:clock:)``. gRPC uses the
    ///     system's clock for the limit of a request (``MirrorConfiguration/requestTimeout``) and
    ///     for pings.
    public convenience init(
        _ range: EtcdRange,
        at configuration: EtcdConfiguration,
        coding: MirrorCoding<Value>,
        logger: Logger = Logger(label: "EtcdMirror"),
        factory: any MetricsFactory = MetricsSystem.factory,
        label: String = Engine.name,
        clock: some Clock<Duration> = ContinuousClock()
    ) {
        self.init(
            following: EtcdEngine(
                range: range,
                configuration: configuration,
                metrics: EtcdMetrics(label: label, factory: factory),
                clock: MirrorClock(clock)
            ),
            configuration: configuration.mirror,
            coding: coding,
            logger: logger,
            factory: factory,
            label: label,
            clock: clock
        )
    }
}

/// One range of keys of one etcd cluster, as the engine of a mirror.
public struct EtcdEngine: MirrorEngine {
    public static var name: String { "etcd" }

    let range: EtcdRange
    let configuration: EtcdConfiguration
    let metrics: EtcdMetrics
    let clock: MirrorClock

    public func servers() throws -> [EtcdEndpoint] {
        guard configuration.pageSize > 0 else {
            throw MirrorError(.invalidConfiguration, "the page size is \(configuration.pageSize): at least 1 is needed")
        }
        guard range != .key("") else {
            throw MirrorError(
                .invalidConfiguration,
                "the range is the empty key, which etcd does not have: use a prefix for all keys"
            )
        }
        return try configuration.endpoints.map(EtcdEndpoint.init)
    }

    public func withSession(
        at server: EtcdEndpoint,
        _ body: @escaping @Sendable (EtcdSession) async throws -> Void
    ) async throws {
        let client = try EtcdConnection.makeClient(server, configuration)
        let connection = EtcdConnection(
            client: client,
            endpoint: server,
            configuration: configuration,
            metrics: metrics
        )
        // Not a child task, which would be cancelled together with its parent. gRPC closes a
        // connection whose task is cancelled. A call that opens its stream at that moment would
        // never end.
        let connections = Task { try await client.runConnections() }
        defer {
            client.beginGracefulShutdown()
            // This also ends a connection to a server that does not answer.
            connections.cancel()
        }
        try await connection.authenticate()
        let version = try await connection.version()
        try await body(EtcdSession(range: range, connection: connection, version: version, clock: clock))
    }
}

/// The counters that mirrors of etcd have in addition to the metrics of every mirror.
struct EtcdMetrics: Sendable {
    /// The number of watch messages that etcd marked as a fragment.
    let fragments: Counter
    /// The number of times that etcd rejected the token, and the session requested a new one.
    let tokens: Counter

    init(label: String, factory: any MetricsFactory) {
        let dimensions = [("mirror", label)]
        fragments = Counter(label: "etcd_mirror_fragments_total", dimensions: dimensions, factory: factory)
        tokens = Counter(label: "etcd_mirror_token_renewals_total", dimensions: dimensions, factory: factory)
    }
}
#endif
