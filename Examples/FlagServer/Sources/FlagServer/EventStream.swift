// SPDX-License-Identifier: Apache-2.0

import AsyncAlgorithms
import ConcurrentObserve
import Metrics
import NIOCore
import ServiceLifecycle

/// The stream of one client: the state of all flags, and then every commit, until the client goes
/// or the service shuts down.
///
/// All flags together have a mailbox for one commit. A fast client receives every commit as one
/// event, with the derived flags that follow from it. After each event its flags and derived flags
/// agree. For a slower client a later commit replaces the earlier one in the mailbox, which counts
/// as dropped. A slow client therefore costs a few hundred bytes and no time, and receives the last
/// state.
struct EventStream: Sendable {
    let flags: FeatureFlags
    let source: FlagSource
    let metrics: StreamMetrics
    /// The time after which something is sent if nothing changes.
    let heartbeat: Duration

    /// Sends events while the stream goes on.
    ///
    /// - Parameters:
    ///   - seen: The version that the client has from an earlier stream, of this server or of
    ///     another one with the same source; nil for none.
    ///   - send: Returns when the client can take more. Until then changes wait in the mailboxes.
    /// - Throws: The error that `send` throws.
    func run(after seen: UInt64?, _ send: (ServerSentEvent) async throws -> Void) async throws {
        metrics.open.modify { $0 += 1 }
        defer { metrics.open.modify { $0 -= 1 } }
        // Passes on one event at a time: a task with an event waits until the client takes it.
        let events = AsyncChannel<ServerSentEvent>()
        try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await follow(after: seen, events) }
                group.addTask { await beat(events) }
                for await event in events { try await send(event) }
                // The service shuts down, the client has gone, or this server is older than the
                // state that the client has seen.
                group.cancelAll()
            }
            if !Task.isCancelled { try await send(.end) }
        } onGracefulShutdown: {
            events.finish()
        }
    }

    /// Passes on the state, or the changes since the version that the client has seen. Then passes
    /// on the commits, each after the client has taken the one before.
    private func follow(after seen: UInt64?, _ events: AsyncChannel<ServerSentEvent>) async {
        if !source.hasFlags.value { await events.send(.waiting(source.state())) }
        guard await source.hasFlags.values(options: .initial).contains(true) else { return }
        // A new client has seen nothing in this stream, so it receives the present state.
        if await !source.reach(seen), seen != nil {
            // The client connects again, perhaps to another server.
            events.finish()
            return
        }
        // From here on a commit is received, or replaced by a later one.
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
            // The number of commits that were dropped so far, including all before this one.
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

/// Reports figures of the streams to swift-metrics.
struct StreamMetrics: Sendable {
    /// The number of open streams.
    let open = Observed(0)
    /// The number of commits that were sent to clients.
    let sent: Counter
    /// The number of commits that were not sent to a client, because later ones replaced them.
    let dropped: Counter
    private let reporting: ObservationToken

    init(factory: any MetricsFactory) {
        let meter = Meter(label: "flag_streams_open", factory: factory)
        // The numbers are set one after the other, also if several streams begin and end at once.
        reporting = open.observe(options: .initial, delivery: .serial()) { meter.set($0.new) }
        sent = Counter(label: "flag_events_sent_total", factory: factory)
        dropped = Counter(label: "flag_events_dropped_total", factory: factory)
    }
}
