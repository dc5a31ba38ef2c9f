// SPDX-License-Identifier: Apache-2.0

import AsyncAlgorithms
import ConcurrentObserve
import NIOCore
import ServiceLifecycle

/// One client's stream: the state of all flags, then every commit, until the client goes or the service goes down.
///
/// The flags together have a mailbox for one commit. A client that keeps up receives every commit as one event. For a slower
/// client, a later commit replaces the earlier in its mailbox, which is counted as dropped. So a slow client costs a few
/// hundred bytes and no time, and receives the last state.
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
                // From here on nothing is missed.
                var commits = flags.commits(buffering: .latest).makeAsyncIterator()
                guard let first = await commits.next() else { return }
                let state = StreamedFlags(first.new, after: nil, dropped: commits.deliveryCounts.dropped)
                var derived = flags.checkoutOpen.values(includingInitial: true, buffering: .latest).makeAsyncIterator()
                guard let checkoutOpen = await derived.next() else { return }
                let (restOfCommits, restOfDerived) = (commits, derived)
                group.addTask { await follow(restOfCommits, after: state, events) }
                group.addTask { await follow(restOfDerived, after: checkoutOpen, events) }
                group.addTask { await beat(events) }
                try await send(.state(state, [checkoutOpen]))
                for await event in events { try await send(event) }
                // The service goes down, or the client has gone, and takes no more events.
                group.cancelAll()
            }
            if !Task.isCancelled { try await send(.end) }
        } onGracefulShutdown: {
            events.finish()
        }
    }

    /// Hands over the commits, each when the one before has been taken.
    private func follow(
        _ commits: ObservationSequence<Change<[FlagState]>>.Iterator,
        after state: StreamedFlags,
        _ events: AsyncChannel<ServerSentEvent>
    ) async {
        var commits = commits
        var last = state
        var counted: UInt64 = 0
        while let commit = await commits.next() {
            // At least what was dropped between this commit and the one before.
            let dropped = commits.deliveryCounts.dropped
            last = StreamedFlags(commit.new, after: last.version, dropped: dropped)
            await events.send(.change(last))
            metrics.sent.increment()
            metrics.dropped.increment(by: dropped - counted)
            counted = dropped
        }
        metrics.dropped.increment(by: commits.deliveryCounts.dropped - counted)
    }

    /// Hands over the values of a derived flag, each when the one before has been taken.
    private func follow(
        _ values: ObservationSequence<DerivedFlag>.Iterator,
        after first: DerivedFlag,
        _ events: AsyncChannel<ServerSentEvent>
    ) async {
        var values = values
        var last = first
        // For a slow client two values may be left out, and the next is what it has.
        while let value = await values.next() {
            guard value != last else { continue }
            last = value
            await events.send(.derived(value))
        }
    }

    private func beat(_ events: AsyncChannel<ServerSentEvent>) async {
        while (try? await Task.sleep(for: heartbeat)) != nil { await events.send(.heartbeat) }
    }
}
