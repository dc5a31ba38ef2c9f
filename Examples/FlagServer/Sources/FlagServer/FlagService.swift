// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveLogging
import ConcurrentObserveMetrics
import ConcurrentObserveServiceLifecycle
import HTTPEdge
import Hummingbird
import Metrics
import OpenFeature
import ServiceLifecycle

/// The service: its flags, its routes, and the services that run with it.
package struct FlagService: Sendable {
    package let flags = FeatureFlags()
    let streams: StreamMetrics
    /// The source of the flags. Changes go to it.
    package var source: FlagSource
    /// The services that run in addition to the requests.
    package var services: [any Service] = []
    package var edge: Edge
    /// The time after which a stream is sent something if nothing changes.
    package var heartbeat = Duration.seconds(15)
    /// The age of the flags at which the server says that it is not ready.
    package var staleLimit = Duration.seconds(30)

    package init(_ edge: Edge) {
        self.edge = edge
        streams = StreamMetrics(factory: edge.metrics)
        self.edge.readOnlyPaths = [EvaluationRoutes<FlagState>.path]
        source = .memory(flags)
    }

    /// Runs the application until SIGTERM or SIGINT asks the process to end.
    ///
    /// - Throws: The error of a service, for example if it cannot listen.
    package func run() async throws {
        var configuration = ServiceGroupConfiguration(
            services: [application],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: edge.logger
        )
        // The two ports shut down one after the other, each within `shutdownLimit`. Then the
        // remaining work is cancelled.
        configuration.maximumGracefulShutdownDuration = .seconds(15)
        try await ServiceGroup(configuration: configuration).run()
    }

    /// The application. Run it once. It stops when its service group shuts down, after every stream
    /// has ended.
    package var application: some ApplicationProtocol {
        let (logger, metrics) = (edge.logger, edge.metrics)
        let own: [any Service] = [
            // The first service ends last, when all observations have ended.
            ObservationDrain(within: .seconds(5)),
            // Warns of callbacks that do not return, and of mailboxes that grow.
            StuckCallbackWatch(logger: logger),
            LibraryMetrics(factory: metrics),
            ChangeLog(flags: flags, logger: logger, factory: metrics),
        ]
        return edge.application(services: own + services) { router in
            Page.add(to: router)
            FlagRoutes(
                flags: flags,
                source: source,
                staleLimit: staleLimit,
                stream: EventStream(
                    flags: flags,
                    source: source,
                    metrics: streams,
                    heartbeat: heartbeat
                ),
                changes: Timer(label: "flag_change_duration_seconds", factory: metrics)
            ).add(to: router)
            EvaluationRoutes(provider).add(to: router)
            ProviderEvents(provider, heartbeat: heartbeat, factory: metrics).add(to: router)
        }
    }

    /// The flags, for OpenFeature's protocols.
    package var provider: FlagProvider<FlagState> {
        FlagProvider(
            flags.all,
            status: source.status,
            hasFlags: source.hasFlags,
            catchUp: { [source] in _ = await source.reach(nil) }
        ) { states in
            let snapshot = FlagSnapshot(flags: states)
            let flags = states.map { state in
                ProvidedFlag(
                    name: state.name.rawValue,
                    isEnabled: state.flag.isEnabled,
                    rollout: state.flag.rollout,
                    version: state.version
                )
            }
            let derived = snapshot.derived.map { ProvidedFlag(name: $0.name, isEnabled: $0.isEnabled, version: 0) }
            return ProvidedFlags(flags + derived, version: snapshot.version)
        }
    }
}
