// SPDX-License-Identifier: Apache-2.0

import AsyncAlgorithms
import ConcurrentObserve
import Foundation
import HTTPEdge
import Hummingbird
import Metrics
import NIOCore
import ServiceLifecycle

/// The states of a provider of flags, as OpenFeature names them.
package enum ProviderStatus: Sendable, Equatable {
    /// No flags have come from the source.
    case notReady
    case ready
    /// The flags are old.
    case stale(String)
    case error(String)
}

/// Serves `GET /provider/events`: OpenFeature's events of a provider, as server-sent events.
///
/// A client that comes late at once receives the event of the present state, and then each event in
/// order. A change of flags is `CONFIGURATION_CHANGED` with their names.
///
/// If a client is more than a thousand commits behind, the oldest ones are left out. The next event
/// then also names the flags that these have changed, and has the number of events that were left
/// out.
package struct ProviderEvents<State: Sendable>: Sendable {
    private let provider: FlagProvider<State>
    /// The time after which something is sent if nothing changes.
    private let heartbeat: Duration
    /// The number of commits for which clients got no event.
    private let dropped: Counter

    package init(_ provider: FlagProvider<State>, heartbeat: Duration, factory: any MetricsFactory) {
        (self.provider, self.heartbeat) = (provider, heartbeat)
        dropped = Counter(label: "flag_provider_events_dropped_total", factory: factory)
    }

    package func add(to router: Router<EdgeContext>) {
        router.stream("provider/events") { _, send in
            if provider.hasFlags.value { await provider.catchUp() }
            for await event in events { try await send(ByteBuffer(string: event)) }
        }
    }

    private var events: some AsyncSequence<String, Never> {
        let states = provider.status.values(options: .initial, buffering: .droppingOldest(1_000))
            .compactMap { ProviderEvent($0)?.encoded }
        let changes = ProviderChanges(provider: provider, counter: dropped)
        let beats = AsyncTimerSequence.repeating(every: heartbeat).map { _ in ":\n\n" }
        return merge(states, changes.map(\.encoded), beats).cancelOnGracefulShutdown()
    }
}

/// The commits after the present one, for one client.
private struct ProviderChanges<State: Sendable>: AsyncSequence, Sendable {
    let provider: FlagProvider<State>
    let counter: Counter

    func makeAsyncIterator() -> Iterator {
        Iterator(commits: provider.commits.makeAsyncIterator(), provider: provider, counter: counter)
    }

    struct Iterator: AsyncIteratorProtocol {
        var commits: ObservationSequence<Change<[State]>>.AsyncIterator
        let provider: FlagProvider<State>
        let counter: Counter
        /// The number of the last change, and the version that the client knows.
        private var last: (change: UInt64, version: UInt64)?
        /// The number of commits that were left out for the client so far.
        private var dropped: UInt64 = 0

        init(
            commits: ObservationSequence<Change<[State]>>.AsyncIterator,
            provider: FlagProvider<State>,
            counter: Counter
        ) {
            (self.commits, self.provider, self.counter) = (commits, provider, counter)
        }

        mutating func next() async -> ProviderEvent? {
            while let commit = await commits.next() {
                let flags = provider.show(commit.new)
                defer { last = (commit.version, flags.version) }
                // The first one is the present state, which is not a change.
                guard let last else { continue }
                // The observation numbers its changes without gaps.
                let missing = commit.version - last.change - 1
                dropped += missing
                counter.increment(by: missing)
                return ProviderEvent(flags, after: last.version, dropped: dropped)
            }
            return nil
        }
    }
}

private struct ProviderEvent: Sendable {
    private struct Details: Encodable {
        var message: String?
        var flagsChanged: [String]?
        var version: UInt64?
        var dropped: UInt64?
    }

    private let name: String
    private let details: Details

    /// A provider that was never ready reports nothing.
    init?(_ status: ProviderStatus) {
        switch status {
        case .notReady: return nil
        case .ready: (name, details) = ("PROVIDER_READY", Details())
        case .stale(let message): (name, details) = ("PROVIDER_STALE", Details(message: message))
        case .error(let message): (name, details) = ("PROVIDER_ERROR", Details(message: message))
        }
    }

    init(_ flags: ProvidedFlags, after last: UInt64, dropped: UInt64) {
        let changed = flags.flags.filter { $0.version > last }.map(\.name)
        name = "PROVIDER_CONFIGURATION_CHANGED"
        details = Details(flagsChanged: changed, version: flags.version, dropped: dropped)
    }

    var encoded: String {
        // A structure of texts and numbers can always be encoded.
        let data = (try? JSONEncoder().encode(details)) ?? Data()
        return "event: \(name)\ndata: \(String(decoding: data, as: UTF8.self))\n\n"
    }
}
