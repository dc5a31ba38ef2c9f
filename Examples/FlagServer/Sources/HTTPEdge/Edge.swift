// SPDX-License-Identifier: Apache-2.0

import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// Protects a service's routes from the clients of its port: limits, checks of the requests, and an
/// orderly end.
///
/// Nothing here knows what the service does. A service adds its routes. No client can then exhaust
/// its memory, keep it from ending, or make changes from another site's page.
package struct Edge: Sendable {
    package var host: String
    /// Where to listen; 0 for any port that is free.
    package var port: Int
    /// The names that clients may give the server, without ports; nil for any.
    package var allowedHosts: Set<String>?
    /// Who may change something.
    package var writes = WritePolicy.anyone
    /// The beginnings of paths whose POST requests change nothing.
    package var readOnlyPaths: [String] = []
    /// How long a connection may be without a request, or a request without its next byte.
    package var idleLimit = TimeAmount.seconds(60)
    /// How many connections there may be.
    package var connectionLimit = Descriptors.raiseLimit()
    /// How long a connection may take to end by itself when the service goes down.
    package let shutdownLimit = TimeAmount.seconds(5)
    package let metrics: TextMetrics
    package let logger: Logger

    /// Makes an edge. A host that only this machine reaches answers to no other name than its own,
    /// and lets anyone make changes. Any other host answers to every name, and refuses changes
    /// until there is a token.
    package init(host: String = "127.0.0.1", port: Int = 8_080, metrics: TextMetrics, logger: Logger) {
        (self.host, self.port, self.metrics, self.logger) = (host, port, metrics, logger)
        let isLoopback = host == "localhost" || host == "::1" || host.hasPrefix("127.")
        allowedHosts = isLoopback ? ["localhost", "127.0.0.1", "[::1]", host] : nil
        writes = isLoopback ? .anyone : .noOne
    }

    /// The application, to be run once. It stops when its service group shuts down, after every
    /// stream has ended. A connection that does not end within `shutdownLimit` is closed.
    ///
    /// - Parameters:
    ///   - services: Services that run beside the requests, and end after them.
    ///   - routes: Adds the service's routes. It is called twice.
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
                // A thousand clients may come at once.
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
        // The methods that there are must be known before the routes are added: a middleware is for
        // what comes after it.
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
