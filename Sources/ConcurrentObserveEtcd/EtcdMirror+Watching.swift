// SPDX-License-Identifier: Apache-2.0

#if Etcd
import GRPCCore

/// The machine of one watch, which its one reader uses.
private final class WatchState: Sendable {
    private let machine: Shared<WatchMachine>
    private let created = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    init(_ machine: WatchMachine) { self.machine = Shared(machine) }

    var startRevision: Int64 { machine.withLock { $0.startRevision } }

    func receive(_ message: WatchMessage) throws -> [WatchMachine.Output] {
        try machine.withLock { try $0.receive(message) }
    }

    func markCreated() { created.continuation.yield() }

    /// Returns when etcd has created the watch.
    func waitUntilCreated() async { for await _ in created.stream { return } }
}

extension EtcdMirror {
    /// Watches from the position on. Returns only by throwing.
    ///
    /// - Throws: `ListAgain` if the session can go on with a list.
    func watch(
        _ connection: EtcdConnection,
        until target: SynchronisationTarget,
        trustsProgressAnswers: Bool
    ) async throws {
        let state = WatchState(
            WatchMachine(
                range: range,
                position: store.position.value,
                trustsProgressAnswers: trustsProgressAnswers,
                maximumBytes: configuration.maximumMessageBytes
            )
        )
        let first = range.watch(from: state.startRevision)
        let interval = configuration.probeInterval
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await connection.watch { writer in
                    try await writer.write(first)
                    try await writer.write(.progress)
                    while true {
                        try await Task.sleep(for: interval)
                        try await writer.write(.progress)
                    }
                } receive: { message in
                    if message.isFragment { self.metrics.fragments.increment() }
                    for output in try state.receive(message) { try self.handle(output, state) }
                }
            }
            group.addTask {
                try await self.withLimit(connection) { await state.waitUntilCreated() }
                try await self.catchUp(connection, with: target)
                try await self.probe(connection)
            }
            group.addTask { try await self.compareAgain(connection) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func handle(_ output: WatchMachine.Output, _ state: WatchState) throws {
        switch output {
        case .created:
            state.markCreated()
        case .revision(let revision):
            store.apply(revision)
            metrics.revisions.increment()
            metrics.events.increment(by: revision.events.count)
            noteContents()
            let count = store.keyCount
            if count > configuration.maximumKeys { throw tooManyKeys(count) }
        case .bookmark(let revision):
            store.bookmark(revision)
            metrics.position.set(revision)
        case .compacted:
            throw ListAgain.compacted
        }
    }

    /// Returns when the contents have reached the target: the mirror is ready.
    private func catchUp(_ connection: EtcdConnection, with target: SynchronisationTarget) async throws {
        var pause = Duration.milliseconds(10)
        while store.position.value < target.revision {
            // Other keys may have the revisions between. Then nothing comes, and the keys are equal.
            let begin = ContinuousClock.now
            if case .equal = try await compare(connection, store.snapshot, at: 0) {
                return becomeReady(connection, confirmed: begin)
            }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .seconds(1))
        }
        becomeReady(connection, confirmed: target.instant)
    }

    /// Asks again and again whether the member has a quorum.
    private func probe(_ connection: EtcdConnection) async throws {
        var request = EtcdRange.key(range.start).request
        request.limit = 1
        while true {
            try await Task.sleep(for: configuration.probeInterval)
            let begin = ContinuousClock.now
            _ = try await connection.range(request)
            confirm(begin)
        }
    }

    private func compareAgain(_ connection: EtcdConnection) async throws {
        while true {
            // Mirrors that began together do not read together.
            try await Task.sleep(for: configuration.comparisonInterval * Double.random(in: 0.75...1.25))
            let known = store.snapshot
            switch try await compare(connection, known, at: known.position) {
            case .equal:
                metrics.comparisons.increment()
            case .compacted:
                // Without a bookmark, a quiet range's position falls behind. Changes meanwhile have moved it.
                if store.snapshot.position == known.position { throw ListAgain.compacted }
            case .different, .lost:
                logger.error("the contents are not what etcd has", metadata: metadata(connection.endpoint))
                metrics.divergences.increment()
                throw ListAgain.different
            }
        }
    }

    private func withLimit(_ connection: EtcdConnection, _ body: @escaping @Sendable () async -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await body() }
            group.addTask { [configuration] in
                try await Task.sleep(for: configuration.requestTimeout)
                throw EtcdMirrorError(.unreachable, "no watch was created in time", endpoint: "\(connection.endpoint)")
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    func noteContents() {
        let contents = store.contents.value
        metrics.position.set(store.position.value)
        metrics.keys.set(contents.entries.count)
        metrics.malformed.set(contents.errors.count)
    }
}
#endif
