// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Flags
import Logging
import Metrics
import NIOCore

@main
struct FlagServer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Feature flags over HTTP, with every change as a server-sent event.",
        discussion: "SIGTERM and SIGINT end all streams, then the service."
    )

    @Option(help: "The address to listen at.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen at; 0 for any that is free.")
    var port = 8_080

    @Option(help: "What to log: \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")).")
    var logLevel = Logger.Level.info

    @Option(help: "The URL of an etcd member that has the flags, as http://127.0.0.1:2379; may be repeated.")
    var etcd: [String] = []

    func validate() throws {
        #if !Etcd
        guard etcd.isEmpty else { throw ValidationError("'--etcd' needs a build with the trait Etcd") }
        #endif
        guard (0...65_535).contains(port) else { throw ValidationError("'--port' is from 0 to 65535") }
    }

    func run() async throws {
        var logger = Logger(label: "FlagServer")
        logger.logLevel = logLevel
        let metrics = TextMetrics()
        MetricsSystem.bootstrap(metrics)
        do {
            var service = FlagService(metrics: metrics, logger: logger)
            #if Etcd
            if !etcd.isEmpty { service.follow(etcd: etcd, metrics: metrics, logger: logger) }
            #endif
            try await service.application(host: host, port: port).runService()
        } catch let error as IOError {
            throw ValidationError("cannot listen at \(host):\(port): \(error)")
        }
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
