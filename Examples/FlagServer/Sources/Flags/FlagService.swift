// SPDX-License-Identifier: Apache-2.0

import Hummingbird
import Logging
import ServiceLifecycle

/// The service: its flags, its routes and what runs beside them.
public struct FlagService: Sendable {
    package let flags: FeatureFlags
    /// Where changes go to, and what is known of that place.
    package var source: FlagSource
    /// What runs beside the requests.
    package var services: [any Service] = []
    package let metrics: TextMetrics
    let logger: Logger
    /// How often a stream is sent something when nothing changes.
    package var heartbeat = Duration.seconds(15)

    public init(metrics: TextMetrics, logger: Logger) {
        flags = FeatureFlags()
        source = .memory(flags)
        self.metrics = metrics
        self.logger = logger
    }

    /// The application, to be run once. It stops when its service group shuts down, after every stream has ended.
    ///
    /// - Parameter port: Where to listen; 0 for any that is free.
    public func application(host: String = "127.0.0.1", port: Int = 8_080) -> some ApplicationProtocol {
        Application(
            router: router,
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                serverName: "FlagServer",
                // A thousand clients may come at once.
                backlog: 1_024
            ),
            services: [ChangeLog(flags: flags, logger: logger, factory: metrics)] + services,
            logger: logger
        )
    }

    private var router: Router<FlagRequestContext> {
        let router = Router(context: FlagRequestContext.self)
        router.add(middleware: MetricsMiddleware())
        router.add(middleware: LogRequestsMiddleware(.debug))
        router.add(middleware: ErrorBodies())
        router.get("/") { _, _ in Page.response }
        router.get("metrics") { _, _ in metrics.text }
        FlagRoutes(flags: flags, source: source).add(to: router)
        let stream = EventStream(flags: flags, metrics: StreamMetrics(factory: metrics), heartbeat: heartbeat)
        EventRoute(stream: stream).add(to: router)
        return router
    }
}
