// SPDX-License-Identifier: Apache-2.0

import AsyncAlgorithms
import ConcurrentObserve
import NIOCore
import ServiceLifecycle

/// One client's stream: the state of all flags, then every change, until the client goes or the service goes down.
///
/// Each flag has a mailbox for one change. A client that keeps up receives every change. For a slower client, a later
/// change of a flag replaces the earlier in its mailbox, which is counted as dropped. So a slow client costs a few
/// hundred bytes and no time, and receives the last change.
struct EventStream: Sendable {
    let flags: FeatureFlags
    let metrics: StreamMetrics
    /// How often to send something when nothing changes.
    let heartbeat: Duration

    /// Sends events for as long as the stream goes on.
    ///
    /// - Parameter send: Returns when the client can take more; meanwhile changes wait in the mailboxes.
    /// - Throws: What `send` throws.
    func run(_ send: (ServerSentEvent) async throws -> Void) async throws {
        metrics.open.increment()
        defer { metrics.open.decrement() }
        // Hands over one event at a time: a task that has one waits until the client takes it.
        let events = AsyncChannel<ServerSentEvent>()
        try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                var states: [StreamedState] = []
                for name in Flag.Name.allCases {
                    // From here on nothing of this flag is missed.
                    var iterator = changes(of: name).makeAsyncIterator()
                    guard let first = await iterator.next() else { return }
                    let state = FlagState(name: name, flag: first.new, version: first.version)
                    states.append(StreamedState(state: state, dropped: iterator.deliveryCounts.dropped))
                    let rest = iterator
                    group.addTask { await follow(name, rest, events) }
                }
                group.addTask { await beat(events) }
                try await send(.state(states))
                for await event in events { try await send(event) }
                // The service goes down, or the client has gone, and takes no more events.
                group.cancelAll()
            }
            if !Task.isCancelled { try await send(.end) }
        } onGracefulShutdown: {
            events.finish()
        }
    }

    private func changes(of name: Flag.Name) -> ObservationSequence<Change<Flag>> {
        flags[name].changes(options: .initial, buffering: .latest)
    }

    /// Hands over the changes of a flag, each when the one before has been taken.
    private func follow(
        _ name: Flag.Name,
        _ changes: ObservationSequence<Change<Flag>>.Iterator,
        _ events: AsyncChannel<ServerSentEvent>
    ) async {
        var changes = changes
        var counted: UInt64 = 0
        while let change = await changes.next() {
            let state = FlagState(name: name, flag: change.new, version: change.version)
            // At least what was dropped between this change and the one before.
            let dropped = changes.deliveryCounts.dropped
            await events.send(.change(StreamedState(state: state, dropped: dropped)))
            metrics.sent.increment()
            metrics.dropped.increment(by: dropped - counted)
            counted = dropped
        }
        metrics.dropped.increment(by: changes.deliveryCounts.dropped - counted)
    }

    private func beat(_ events: AsyncChannel<ServerSentEvent>) async {
        while (try? await Task.sleep(for: heartbeat)) != nil { await events.send(.heartbeat) }
    }
}
