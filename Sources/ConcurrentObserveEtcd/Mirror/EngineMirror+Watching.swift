// SPDX-License-Identifier: Apache-2.0

#if Etcd
extension EngineMirror {
    /// Watches from the position on, until it throws.
    ///
    /// - Parameters:
    ///   - target: The state of the engine that the contents have to reach first.
    ///   - home: The server that the mirror prefers; nil if the session uses this server.
    /// - Throws: `ListAgain` if the session can continue with a list. `ReturnHome` if the preferred
    ///   server can be used. Any other error ends the session.
    func watch(_ session: Engine.Session, until target: SynchronisationTarget, home: Engine.Server?) async throws {
        let (started, start) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let first = store.position.value + 1
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var first = first
                while true {
                    do {
                        try await self.receive(session, from: first) { start.yield() }
                    } catch ListAgain.gone where !Engine.keepsHistory {
                        first = try await self.listChanges(session) + 1
                    }
                }
            }
            group.addTask {
                try await self.withLimit(
                    self.configuration.requestTimeout,
                    MirrorError(.behind, "no watch was created in time")
                ) {
                    for await _ in started { return }
                }
                try await self.stayCurrent(session, from: target)
            }
            group.addTask { try await self.compareAgain(session) }
            if let home { group.addTask { try await self.waitForHome(home) } }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Handles the watch's messages. Runs until it throws.
    private func receive(
        _ session: Engine.Session,
        from first: Int64,
        started: @escaping @Sendable () -> Void
    ) async throws {
        do {
            try await session.watch(from: first) { message in
                if message == .started { started() } else { try self.handle(message) }
            }
            throw MirrorError(.unreachable, "the watch has ended")
        } catch let error as MirrorError where error.code == .revisionGone {
            throw ListAgain.gone
        } catch let error as MirrorError where error.code == .tooLarge {
            throw ListAgain.tooLarge(error)
        }
    }

    private func handle(_ message: MirrorMessage) throws {
        switch message {
        case .started:
            break
        case .change(let revision, let items):
            let position = store.position.value
            try MirrorError.check(revision)
            guard revision > position else {
                throw MirrorError(
                    .protocolViolation,
                    "a change of revision \(revision) comes after revision \(position)"
                )
            }
            noteMalformed(store.apply(items, revision: revision))
            metrics.revisions.increment()
            metrics.events.increment(by: items.count)
            noteContents()
            let count = store.keyCount
            if count > configuration.maximumKeys { throw tooManyKeys(count) }
        case .complete(let revision):
            // A server that lags behind reports a lower revision.
            guard revision > store.position.value else { return }
            try MirrorError.check(revision)
            store.complete(upTo: revision)
            metrics.position.set(revision)
        }
    }

    private func compareAgain(_ session: Engine.Session) async throws {
        while true {
            // A random pause: mirrors that began together do not read together.
            try await clock.sleep(for: configuration.comparisonInterval * Double.random(in: 0.75...1.25))
            if !Engine.keepsHistory {
                try await compareWithPresent(session)
                continue
            }
            let known = store.snapshot
            switch try await compare(session, known, at: known.position) {
            case .equal:
                metrics.comparisons.increment()
                try await lookBeyond(known.position, session)
            case .gone:
                // If the engine does not report progress, the position of a mirror without changes
                // falls behind. If changes have moved the position during the comparison, nothing
                // is wrong.
                if store.snapshot.position == known.position { throw ListAgain.gone }
            case .different, .lost:
                noteDifference()
                throw ListAgain.different
            }
        }
    }

    /// Compares with the engine's present keys. A comparison at the position does not find later
    /// changes that the watch has left out.
    private func lookBeyond(_ position: Int64, _ session: Engine.Session) async throws {
        guard try await !look(session).isCurrent else { return }
        // Changes may be on their way. If they arrive, the next comparison covers them.
        try await clock.sleep(for: min(configuration.maximumLag, configuration.comparisonInterval / 2))
        guard store.snapshot.position == position, try await !look(session).isCurrent else { return }
        logger.error("the watch has left out changes", metadata: metadata)
        metrics.divergences.increment()
        throw ListAgain.different
    }

    func withLimit<Result: Sendable>(
        _ limit: Duration,
        _ failure: MirrorError,
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask { try await body() }
            group.addTask { [clock] in
                try await clock.sleep(for: limit)
                throw failure
            }
            defer { group.cancelAll() }
            return try await group.next()!
        }
    }

    func noteMalformed(_ errors: [MirrorValueError]) {
        // Ten errors are enough to see what is wrong with a long list.
        for error in errors.prefix(10) {
            logger.error(
                "a value is malformed: its key keeps the last good one",
                metadata: ["key": "\(error.key)", "revision": "\(error.revision)", "error": "\(error.underlying)"]
            )
        }
        guard errors.count > 10 else { return }
        logger.error("more values are malformed", metadata: ["count": "\(errors.count - 10)"])
    }

    func noteContents() {
        let contents = store.contents.value
        metrics.position.set(store.position.value)
        metrics.keys.set(contents.entries.count)
        metrics.malformed.set(contents.errors.count)
    }
}
#endif
