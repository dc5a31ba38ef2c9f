// SPDX-License-Identifier: Apache-2.0

#if Etcd
public import CoreMetrics
public import Logging

/// Properties that follow the keys of an etcd cluster: one revision of etcd is one change.
public typealias EtcdMirror<Value: Sendable> = EngineMirror<EtcdEngine, Value>

extension EngineMirror where Engine == EtcdEngine {
    /// Makes a mirror of etcd, which connects when ``run()`` is called.
    ///
    /// - Parameters:
    ///   - range: The keys.
    ///   - configuration: Where etcd is.
    ///   - coding: How values become bytes, and bytes values.
    ///   - logger: Changes of the state, and what etcd lost. It is called on the mirror's task.
    ///   - factory: Where the metrics go.
    ///   - label: The properties' label in this library's diagnostics, and the metrics' dimension
    ///     `mirror`.
    ///   - clock: As in ``init(following:configuration:coding:logger:factory:label:clock:)``. gRPC
    ///     measures by the system's clock how long a request takes
    ///     (``MirrorConfiguration/requestTimeout``) and when to ping.
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

/// etcd, as a mirror sees it: one range of keys of one cluster.
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
        // No child task: gRPC closes a connection whose task is cancelled, and a call that opens
        // its stream then would never end.
        let connections = Task { try await client.runConnections() }
        defer {
            client.beginGracefulShutdown()
            // A connection to a server that does not answer ends, too.
            connections.cancel()
        }
        try await connection.authenticate()
        let version = try await connection.version()
        try await body(EtcdSession(range: range, connection: connection, version: version, clock: clock))
    }
}

/// The counters that only etcd's mirrors have, besides those of every mirror.
struct EtcdMetrics: Sendable {
    /// Messages that were parts.
    let fragments: Counter
    /// Tokens that etcd no longer took, and that were replaced within a session.
    let tokens: Counter

    init(label: String, factory: any MetricsFactory) {
        let dimensions = [("mirror", label)]
        fragments = Counter(label: "etcd_mirror_fragments_total", dimensions: dimensions, factory: factory)
        tokens = Counter(label: "etcd_mirror_token_renewals_total", dimensions: dimensions, factory: factory)
    }
}
#endif
