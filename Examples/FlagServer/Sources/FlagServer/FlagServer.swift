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
        discussion: """
            SIGTERM and SIGINT end all streams, then the service. A connection that does not end within five seconds is closed.
            """
    )

    @Option(help: "The address to listen at.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen at; 0 for any that is free.")
    var port = 8_080

    @Option(help: "What to log: \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")).")
    var logLevel = Logger.Level.info

    @Option(help: "The URL of an etcd member that has the flags, as http://127.0.0.1:2379; may be repeated.")
    var etcd: [String] = []

    @Option(help: "A file that has the flags, as JSON: read again when it changes, and replaced by each change.")
    var file: String?

    @Option(help: "How many seconds a connection may be without a request.")
    var idleLimit = 60

    @Option(help: "The port for flagd's sync protocol; 0 for any that is free.")
    var flagdPort: Int?

    func validate() throws {
        #if !Etcd
        guard etcd.isEmpty else { throw ValidationError("'--etcd' needs a build with the trait Etcd") }
        #endif
        #if !Flagd
        guard flagdPort == nil else { throw ValidationError("'--flagd-port' needs a build with the trait Flagd") }
        #endif
        guard file == nil || etcd.isEmpty else {
            throw ValidationError("the flags are either in '--etcd' or in '--file'")
        }
        guard (1...86_400).contains(idleLimit) else { throw ValidationError("'--idle-limit' is from 1 to 86400") }
        guard (0...65_535).contains(flagdPort ?? 0) else { throw ValidationError("'--flagd-port' is from 0 to 65535") }
        guard (0...65_535).contains(port) else { throw ValidationError("'--port' is from 0 to 65535") }
    }

    func run() async throws {
        var logger = Logger(label: "FlagServer")
        logger.logLevel = logLevel
        let metrics = TextMetrics()
        MetricsSystem.bootstrap(metrics)
        do {
            var service = FlagService(metrics: metrics, logger: logger)
            service.idleLimit = .seconds(Int64(idleLimit))
            if let file { await service.follow(file: file) }
            #if Etcd
            if !etcd.isEmpty { service.follow(etcd: etcd, metrics: metrics, logger: logger) }
            #endif
            #if Flagd
            if let flagdPort { service.serve(flagd: host, port: flagdPort) }
            #endif
            try await service.run(host: host, port: port)
        } catch let error as IOError {
            throw ValidationError("cannot listen at \(host):\(port): \(error)")
        } catch let error as CannotListen {
            throw ValidationError("\(error)")
        }
    }
}

/// The port of another protocol cannot be used.
struct CannotListen: Error, CustomStringConvertible {
    let host: String
    let port: Int
    let cause: any Error

    var description: String { "cannot listen at \(host):\(port): \(cause)" }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
