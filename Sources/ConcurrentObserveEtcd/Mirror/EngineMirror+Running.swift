// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ServiceLifecycle

extension EngineMirror {
    /// Follows the engine until the task is cancelled, or its service group shuts down. Call it
    /// only once.
    ///
    /// A faulty or absent engine does not end the call: ``state`` reports the fault.
    ///
    /// - Throws: `MirrorError` if the configuration has no usable server.
    public func run() async throws {
        let servers: [Engine.Server]
        do {
            servers = try engine.servers()
            if servers.isEmpty { throw MirrorError(.invalidConfiguration, "there is no server") }
        } catch {
            let error = error as? MirrorError ?? MirrorError(.invalidConfiguration, "\(error)")
            _ = leave(error)
            throw error
        }
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.runSessions(self.configuration.serverOrder.arrange(servers)) }
                group.addTask { await self.watchAge() }
                await group.next()
                group.cancelAll()
            }
        }
        _ = leave(MirrorError(.stopped, "the mirror's run() has ended"))
    }

    private func runSessions(_ servers: [Engine.Server]) async {
        var generator = SystemRandomNumberGenerator()
        var failures = 0
        var isCurable = false
        while !Task.isCancelled {
            let server = servers[failures % servers.count]
            let end = await runSession(server, home: failures % servers.count == 0 ? nil : servers[0])
            if Task.isCancelled { return }
            metrics.sessions.increment()
            guard let error = end as? MirrorError else {
                logger.debug("the mirror returns to its first server", metadata: ["server": "\(servers[0])"])
                failures = 0
                continue
            }
            logger.debug("a session has ended", metadata: ["error": "\(error)", "server": "\(server)"])
            // The remainder is kept, so that the next session uses the next server.
            if leave(error) > configuration.backoff.reset { failures %= servers.count }
            failures += 1
            isCurable = isCurable || error.isCurable
            guard failures % servers.count == 0 || servers.count == 1 else { continue }
            let round = failures / servers.count
            let pause = configuration.backoff.pause(round: round, isCurable: isCurable, using: &generator)
            isCurable = false
            try? await clock.sleep(for: pause)
        }
    }

    /// Runs one session until it ends.
    ///
    /// - Returns: The reason for the end: a `MirrorError`, or `ReturnHome`.
    private func runSession(_ server: Engine.Server, home: Engine.Server?) async -> any Error {
        present.modify { $0.number += 1 }
        do {
            try await engine.withSession(at: server) { session in try await self.follow(session, home: home) }
            return MirrorError(.unreachable, "the session has ended", server: "\(server)")
        } catch let error as ReturnHome {
            return error
        } catch let error as MirrorError {
            return error
        } catch {
            return MirrorError(.unreachable, "\(error)", server: "\(server)")
        }
    }

    /// Brings the contents up to date, and keeps them up to date. Runs until it throws.
    private func follow(_ session: Engine.Session, home: Engine.Server?) async throws {
        var target = try await synchronise(session)
        var last: ContinuousClock.Instant?
        while true {
            do {
                try await watch(session, until: target, home: home)
            } catch let reason as ListAgain {
                if let error = reason.whenRepeated {
                    // A compaction may come between a list and its watch. But a server that reports
                    // one after each list must not be asked without a pause.
                    if let last, last.duration(to: clock.now) < configuration.backoff.reset { throw error }
                    last = clock.now
                }
                metrics.relists.increment()
                logger.notice("the mirror lists again", metadata: ["reason": "\(reason)"])
                target = try await list(session)
            }
        }
    }
}

extension MirrorError {
    static var goneAgain: MirrorError {
        MirrorError(.revisionGone, "the engine no longer has a revision that it has just listed, again")
    }
}

/// The reason why a watch cannot continue from the position, although the session can continue.
enum ListAgain: Error, Hashable {
    case gone
    case different
    /// The engine has lost data that the mirror has seen.
    case lost
    /// A message of the watch is too large for the mirror. A new watch from the same position would
    /// send it again.
    case tooLarge(MirrorError)

    /// The error that ends the session if this reason occurs twice within a short time. Nil if a
    /// list is enough, however often it occurs.
    var whenRepeated: MirrorError? {
        switch self {
        case .gone: .goneAgain
        case .tooLarge(let error): error
        case .different, .lost: nil
        }
    }
}
#endif
