// SPDX-License-Identifier: Apache-2.0

#if Etcd
extension EngineMirror {
    /// Watches from the position on. Returns only by throwing.
    ///
    /// - Throws: `ListAgain` if the session can go on with a list.
    func watch(_ session: Engine.Session, until target: SynchronisationTarget) async throws {
        let (started, start) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let first = store.position.value + 1
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    try await session.watch(from: first) { message in
                        if message == .started { start.yield() } else { try self.handle(message) }
                    }
                    throw MirrorError(.unreachable, "the watch has ended")
                } catch let error as MirrorError where error.code == .revisionGone {
                    throw ListAgain.gone
                }
            }
            group.addTask {
                try await self.withLimit(self.configuration.requestTimeout, "no watch was created in time") {
                    for await _ in started { return }
                }
                try await self.catchUp(session, with: target)
                try await self.probe(session)
            }
            group.addTask { try await self.compareAgain(session) }
            defer { group.cancelAll() }
            try await group.next()
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
            // A server that lags behind has a lower one.
            guard revision > store.position.value else { return }
            try MirrorError.check(revision)
            store.complete(upTo: revision)
            metrics.position.set(revision)
        }
    }

    /// Returns when the contents have reached the target: the mirror is ready.
    private func catchUp(_ session: Engine.Session, with target: SynchronisationTarget) async throws {
        var pause = Duration.milliseconds(10)
        while store.position.value < target.revision {
            // Other keys may have the revisions between. Then nothing comes, and the keys are equal.
            let begin = ContinuousClock.now
            if case .equal = try await compare(session, store.snapshot, at: nil) {
                return becomeReady(session, confirmed: begin)
            }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .seconds(1))
        }
        becomeReady(session, confirmed: target.instant)
    }

    /// Asks again and again whether the session sees what is newest.
    private func probe(_ session: Engine.Session) async throws {
        while true {
            try await Task.sleep(for: configuration.probeInterval)
            let begin = ContinuousClock.now
            try await withLimit(configuration.probeTimeout, "a probe was not answered in time") {
                try await session.probe()
            }
            confirm(begin)
        }
    }

    private func compareAgain(_ session: Engine.Session) async throws {
        while true {
            // Mirrors that began together do not read together.
            try await Task.sleep(for: configuration.comparisonInterval * Double.random(in: 0.75...1.25))
            let known = store.snapshot
            switch try await compare(session, known, at: known.position) {
            case .equal:
                metrics.comparisons.increment()
            case .gone:
                // Where nothing reports that nothing changes, a quiet mirror's position falls behind. Changes meanwhile have moved it.
                if store.snapshot.position == known.position { throw ListAgain.gone }
            case .different, .lost:
                logger.error("the contents are not what the engine has", metadata: metadata)
                metrics.divergences.increment()
                throw ListAgain.different
            }
        }
    }

    private func withLimit(
        _ limit: Duration,
        _ failure: String,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: limit)
                throw MirrorError(.unreachable, failure)
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    func noteMalformed(_ errors: [MirrorValueError]) {
        // Of a list of nonsense, enough to see what it is.
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
