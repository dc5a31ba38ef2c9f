// SPDX-License-Identifier: Apache-2.0

import AsyncAlgorithms
import ConcurrentObserve
import Metrics
import NIOCore
import ServiceLifecycle

/// One client's stream: the state of all flags, then every commit, until the client goes or the
/// service goes down.
///
/// The flags together have a mailbox for one commit. A client that keeps up receives every commit
/// as one event, with the derived flags that follow from it: after each event its flags and derived
/// flags agree. For a slower client, a later commit replaces the earlier in its mailbox, which is
/// counted as dropped. So a slow client costs a few hundred bytes and no time, and receives the
/// last state.
struct EventStream: Sendable {
    let flags: FeatureFlags
    let source: FlagSource
    let metrics: StreamMetrics
    /// How often to send something when nothing changes.
    let heartbeat: Duration

    /// Sends events for as long as the stream goes on.
    ///
    /// - Parameters:
    ///   - seen: The version that the client has from an earlier stream, of this server or another
    ///     on the same source; nil for none.
    ///   - send: Returns when the client can take more; meanwhile changes wait in the mailboxes.
    /// - Throws: The error that `send` throws.
    func run(after seen: UInt64?, _ send: (ServerSentEvent) async throws -> Void) async throws {
        metrics.open.modify { $0 += 1 }
        defer { metrics.open.modify { $0 -= 1 } }
        // Hands over one event at a time: a task that has one waits until the client takes it.
        let events = AsyncChannel<ServerSentEvent>()
        try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await follow(after: seen, events) }
                group.addTask { await beat(events) }
                for await event in events { try await send(event) }
                // The service goes down, the client has gone, or this server is behind what it has
                // seen.
                group.cancelAll()
            }
            if !Task.isCancelled { try await send(.end) }
        } onGracefulShutdown: {
            events.finish()
        }
    }

    /// Hands over the state, or what has changed since the client has seen it, and the commits,
    /// each when the one before has been taken.
    private func follow(after seen: UInt64?, _ events: AsyncChannel<ServerSentEvent>) async {
        if !source.hasFlags.value { await events.send(.waiting(source.state())) }
        guard await source.hasFlags.values(options: .initial).contains(true) else { return }
        // A new client has seen nothing in this stream: it receives what there is.
        if await !source.reach(seen), seen != nil {
            // The client comes again, perhaps to another server.
            events.finish()
            return
        }
        // From here on nothing is missed.
        var commits = flags.commits(buffering: .latest).makeAsyncIterator()
        guard let first = await commits.next() else { return }
        var counted = commits.deliveryCounts.dropped
        let present = FlagSnapshot(flags: first.new)
        let known = seen.flatMap { source.canResume(present, after: $0) ? $0 : nil }
        var last = StreamedFlags(present, after: known, dropped: counted, source)
        if known == nil {
            await events.send(.state(last))
        } else {
            await events.send(last.flags.isEmpty ? .heartbeat : .change(last))
        }
        while let commit = await commits.next() {
            // At least what was dropped between this commit and the one before.
            let dropped = commits.deliveryCounts.dropped
            last = StreamedFlags(FlagSnapshot(flags: commit.new), after: last.version, dropped: dropped, source)
            await events.send(.change(last))
            metrics.sent.increment()
            metrics.dropped.increment(by: dropped - counted)
            counted = dropped
        }
        metrics.dropped.increment(by: commits.deliveryCounts.dropped - counted)
    }

    private func beat(_ events: AsyncChannel<ServerSentEvent>) async {
        while (try? await Task.sleep(for: heartbeat)) != nil { await events.send(.heartbeat) }
    }
}

/// Reports to swift-metrics what the streams are doing.
struct StreamMetrics: Sendable {
    /// Streams that go on.
    let open = Observed(0)
    /// Commits that clients were sent.
    let sent: Counter
    /// Commits that clients were not sent, since later ones came before they could take them.
    let dropped: Counter
    private let reporting: ObservationToken

    init(factory: any MetricsFactory) {
        let meter = Meter(label: "flag_streams_open", factory: factory)
        // One number after the other, whichever streams begin and end at once.
        reporting = open.observe(options: .initial, delivery: .serial()) { meter.set($0.new) }
        sent = Counter(label: "flag_events_sent_total", factory: factory)
        dropped = Counter(label: "flag_events_dropped_total", factory: factory)
    }
}
