// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FlagServer
import HTTPEdge
import Logging
import Metrics
import NIOCore
import OpenFeature

#if Etcd
import ConcurrentObserveEtcd
#endif

@main
struct ServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "FlagServer",
        abstract: "Feature flags over HTTP, with every change as a server-sent event.",
        discussion: """
            SIGTERM and SIGINT end all streams, then the service. A connection that does not end within five seconds is closed.

            Each option is also a variable of the environment, as FLAGSERVER_ETCD_CA for '--etcd-ca', and a member of the file that '--config' \
            names, as {"etcd": {"ca": "ca.pem"}}. The command line comes before the environment, and this before the file.
            """
    )

    @OptionGroup var options: ServerOptions

    func run() async throws {
        let settings: Settings
        do {
            settings = try await Settings(options)
        } catch let error as ValidationError {
            throw error
        } catch {
            throw ValidationError("'--config' cannot be used: \(error)")
        }
        if settings.logsJSON { LoggingSystem.bootstrap { JSONLog(label: $0) } }
        var logger = Logger(label: "FlagServer")
        logger.logLevel = settings.logLevel
        let metrics = TextMetrics()
        MetricsSystem.bootstrap(metrics)
        do {
            try await settings.service(metrics: metrics, logger: logger).run()
        } catch let error as IOError {
            throw ValidationError("cannot listen at \(settings.host):\(settings.port): \(error)")
        } catch let error as CannotListen {
            throw ValidationError("\(error)")
        }
    }
}

extension Settings {
    func service(metrics: TextMetrics, logger: Logger) async throws -> FlagService {
        var edge = Edge(host: host, port: port, metrics: metrics, logger: logger)
        edge.idleLimit = .seconds(Int64(idleLimit))
        if !allowedHosts.isEmpty { edge.allowedHosts = Set(allowedHosts) }
        if let token = try writeToken() { edge.writes = .token(token) }
        if case .noOne = edge.writes {
            logger.warning("flags can only be read: others reach this address, and there is no '--write-token-file'")
        }
        var service = FlagService(edge)
        service.staleLimit = .seconds(staleLimit)
        if let file { await service.follow(file: file) }
        #if Etcd
        if !etcd.endpoints.isEmpty {
            var configuration = EtcdConfiguration(endpoints: etcd.endpoints)
            configuration.tls = .init(
                certificateAuthorities: etcd.ca,
                certificateChain: etcd.certificate,
                privateKey: etcd.key
            )
            configuration.credentials = etcd.user.map { .init(name: $0, password: etcd.password ?? "") }
            service.follow(configuration)
        }
        #endif
        #if Flagd
        if let flagdPort {
            service.services.append(FlagdSync(service.provider, port: flagdPort, sharing: &service.edge))
        }
        #endif
        return service
    }
}
