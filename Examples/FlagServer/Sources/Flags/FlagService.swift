// SPDX-License-Identifier: Apache-2.0

import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle

/// The service: its flags, its routes and what runs beside them.
public struct FlagService: Sendable {
    package let flags: FeatureFlags
    /// Where changes go to, and what is known of that place.
    package var source: FlagSource
    /// What runs beside the requests.
    package var services: [any Service] = []
    package let metrics: TextMetrics
    package let logger: Logger
    /// How often a stream is sent something when nothing changes.
    package var heartbeat = Duration.seconds(15)
    /// How long a connection may be without a request, or a request without its next byte.
    package var idleLimit = TimeAmount.seconds(60)
    /// How many connections there may be.
    package var connectionLimit = Descriptors.raiseLimit()
    /// How long a connection may take to end by itself when the service goes down.
    package let shutdownLimit = TimeAmount.seconds(5)

    public init(metrics: TextMetrics, logger: Logger) {
        flags = FeatureFlags()
        source = .memory(flags)
        self.metrics = metrics
        self.logger = logger
    }

    /// Runs the application until the process is asked to end by SIGTERM or SIGINT.
    ///
    /// - Parameter port: Where to listen; 0 for any that is free.
    /// - Throws: What a service throws, above all that it cannot listen.
    public func run(host: String, port: Int) async throws {
        var configuration = ServiceGroupConfiguration(
            services: [application(host: host, port: port)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        // The two ports go down one after the other, each within `shutdownLimit`. What is left then is cancelled.
        configuration.maximumGracefulShutdownDuration = .seconds(15)
        try await ServiceGroup(configuration: configuration).run()
    }

    /// The application, to be run once. It stops when its service group shuts down, after every stream has ended.
    /// A connection that does not end within `shutdownLimit` is closed.
    ///
    /// - Parameter port: Where to listen; 0 for any that is free.
    public func application(host: String = "127.0.0.1", port: Int = 8_080) -> some ApplicationProtocol {
        Application(
            router: router,
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [ShutdownLimit(shutdownLimit), PipelineLimit(128), UpgradeRefusal()],
                    idleTimeout: idleLimit
                )
            ),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                serverName: "FlagServer",
                // A thousand clients may come at once.
                backlog: 1_024,
                availableConnectionsDelegate: ConnectionLimit(connectionLimit, logger: logger)
            ),
            services: [ChangeLog(flags: flags, logger: logger, factory: metrics)] + services,
            logger: logger
        )
    }

    private var router: Router<FlagRequestContext> {
        let router = Router(context: FlagRequestContext.self)
        router.add(middleware: HeadErrors())
        router.add(middleware: MetricsMiddleware())
        router.add(middleware: LogRequestsMiddleware(.debug))
        router.add(middleware: ErrorBodies())
        router.add(middleware: ContinueMiddleware())
        router.read("/") { _, _ in Page.response }
        router.read("metrics") { _, _ in metrics.text }
        FlagRoutes(flags: flags, source: source).add(to: router)
        EvaluationRoutes(flags: flags, source: source).add(to: router)
        let streams = StreamMetrics(factory: metrics)
        ProviderEvents(flags: flags, status: source.status, metrics: streams, heartbeat: heartbeat).add(to: router)
        EventRoute(stream: EventStream(flags: flags, metrics: streams, heartbeat: heartbeat)).add(to: router)
        return router
    }
}
