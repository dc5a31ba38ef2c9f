// SPDX-License-Identifier: Apache-2.0

import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// Protects the routes of a service from the clients of its port: it limits and checks requests,
/// and shuts down in order.
///
/// It does not know what the service does. The service adds its routes. Clients then cannot exhaust
/// the memory, keep the service from ending, or make changes from a page of another site.
package struct Edge: Sendable {
    package var host: String
    /// The port; 0 for any free port.
    package var port: Int
    /// The names by which clients may address the server, without ports; nil for any.
    package var allowedHosts: Set<String>?
    /// Says who may make changes.
    package var writes = WritePolicy.anyone
    /// The begin of the paths whose POST requests change nothing.
    package var readOnlyPaths: [String] = []
    /// The longest time of a connection without a request, or of a request without another byte.
    package var idleLimit = TimeAmount.seconds(60)
    /// The largest number of connections.
    package var connectionLimit = Descriptors.raiseLimit()
    /// The time in which a connection may end by itself when the service shuts down.
    package let shutdownLimit = TimeAmount.seconds(5)
    package let metrics: TextMetrics
    package let logger: Logger

    /// Makes an edge. If only this machine reaches the host, the edge accepts no other name than
    /// the host's, and every client may make changes. For any other host it accepts every name, and
    /// refuses changes until there is a token.
    package init(host: String = "127.0.0.1", port: Int = 8_080, metrics: TextMetrics, logger: Logger) {
        (self.host, self.port, self.metrics, self.logger) = (host, port, metrics, logger)
        let isLoopback = host == "localhost" || host == "::1" || host.hasPrefix("127.")
        allowedHosts = isLoopback ? ["localhost", "127.0.0.1", "[::1]", host] : nil
        writes = isLoopback ? .anyone : .noOne
    }

    /// Returns the application. Run it once. It stops when its service group shuts down, after
    /// every stream has ended. A connection that does not end within `shutdownLimit` is closed.
    ///
    /// - Parameters:
    ///   - services: Services that run with the requests, and end after them.
    ///   - routes: Adds the routes of the service. It is called twice.
    package func application(
        services: [any Service],
        routes: (Router<EdgeContext>) -> Void
    ) -> some ApplicationProtocol {
        Application(
            router: router(routes),
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [ShutdownLimit(shutdownLimit), PipelineLimit(128), UpgradeRefusal()],
                    idleTimeout: idleLimit
                )
            ),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                serverName: "FlagServer",
                // A thousand clients may connect at once.
                backlog: 1_024,
                availableConnectionsDelegate: ConnectionLimit(connectionLimit, logger: logger)
            ),
            services: services,
            logger: logger
        )
    }

    private func router(_ routes: (Router<EdgeContext>) -> Void) -> Router<EdgeContext> {
        func addAll(to router: Router<EdgeContext>) {
            router.read("livez") { _, _ in "ok\n" }
            router.read("metrics") { _, _ in metrics.response }
            routes(router)
        }
        // The possible methods must be known before the routes are added: a middleware applies only
        // to routes that are added later.
        let known = Router(context: EdgeContext.self)
        addAll(to: known)
        let router = Router(context: EdgeContext.self)
        router.add(middleware: HeadErrors())
        router.add(middleware: MetricsMiddleware())
        router.add(middleware: LogRequestsMiddleware(.debug))
        router.add(middleware: SecurityHeaders())
        router.add(middleware: ErrorBodies())
        router.add(middleware: AllowedMethods(known))
        router.add(middleware: HostCheck(allowed: allowedHosts))
        router.add(middleware: WriteGuard(policy: writes, readOnlyPaths: readOnlyPaths))
        router.add(middleware: ContinueMiddleware())
        addAll(to: router)
        return router
    }
}
