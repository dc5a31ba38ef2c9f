// SPDX-License-Identifier: Apache-2.0

#if Etcd
import GRPCCore
import ServiceLifecycle

extension EtcdMirror {
    /// Follows etcd until the task is cancelled or its service group shuts down. Call it once.
    ///
    /// What etcd does wrong, or that it is not there, never ends this: ``state`` reports it.
    ///
    /// - Throws: `EtcdMirrorError` if the configuration has no usable endpoint.
    public func run() async throws {
        let endpoints: [Endpoint]
        do {
            endpoints = try configuration.endpoints.map(Endpoint.init)
            if endpoints.isEmpty { throw EtcdMirrorError.invalidConfiguration("there is no endpoint") }
        } catch let error as EtcdMirrorError {
            _ = leave(error)
            throw error
        }
        await cancelWhenGracefulShutdown { await self.runSessions(endpoints) }
        _ = leave(EtcdMirrorError(.stopped, "the mirror's run() has ended"))
    }

    private func runSessions(_ endpoints: [Endpoint]) async {
        var generator = SystemRandomNumberGenerator()
        var failures = 0
        var isCurable = false
        while !Task.isCancelled {
            let endpoint = endpoints[failures % endpoints.count]
            let error = await runSession(endpoint)
            if Task.isCancelled { return }
            metrics.sessions.increment()
            logger.debug("a session has ended", metadata: ["error": "\(error)", "endpoint": "\(endpoint)"])
            // Not to 0: the next session is with another endpoint.
            if leave(error) > configuration.backoff.reset { failures %= endpoints.count }
            failures += 1
            isCurable = isCurable || error.isCurable
            guard failures % endpoints.count == 0 || endpoints.count == 1 else { continue }
            let round = failures / endpoints.count
            let pause = configuration.backoff.pause(round: round, isCurable: isCurable, using: &generator)
            isCurable = false
            try? await Task.sleep(for: pause)
        }
    }

    /// - Returns: Why the session has ended.
    private func runSession(_ endpoint: Endpoint) async -> EtcdMirrorError {
        do {
            let client = try EtcdConnection.makeClient(endpoint, configuration)
            let connection = EtcdConnection(client: client, endpoint: endpoint, configuration: configuration)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await client.runConnections() }
                group.addTask { try await self.follow(connection) }
                defer {
                    client.beginGracefulShutdown()
                    // Streams to a server that does not answer end, too.
                    group.cancelAll()
                }
                try await group.next()
            }
            return EtcdMirrorError(.unreachable, "the connection has ended", endpoint: "\(endpoint)")
        } catch let error as EtcdMirrorError {
            return error
        } catch {
            return EtcdMirrorError(.unreachable, "\(error)", endpoint: "\(endpoint)")
        }
    }

    /// Brings the contents up to date, and keeps them so. Returns only by throwing.
    private func follow(_ connection: EtcdConnection) async throws {
        try await connection.authenticate()
        let version = try await version(connection)
        var target = try await synchronise(connection)
        while true {
            do {
                try await watch(
                    connection,
                    until: target,
                    trustsProgressAnswers: version?.ordersProgressAnswers ?? false
                )
            } catch let reason as ListAgain {
                metrics.relists.increment()
                logger.notice("the mirror lists again", metadata: ["reason": "\(reason)"])
                target = try await list(connection)
            }
        }
    }

    /// The server's version, or nil where it is a secret.
    private func version(_ connection: EtcdConnection) async throws -> ServerVersion? {
        do {
            return try await connection.version()
        } catch let error as EtcdMirrorError where error.code == .permissionDenied || error.code == .unauthenticated {
            return nil
        }
    }
}

/// Why the watch cannot go on from the position, and the session can.
enum ListAgain: Error, Hashable {
    case compacted
    case different
}
#endif
