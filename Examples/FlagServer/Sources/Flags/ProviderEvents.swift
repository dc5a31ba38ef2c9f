// SPDX-License-Identifier: Apache-2.0

import AsyncAlgorithms
import ConcurrentObserve
import Foundation
import Hummingbird
import Metrics
import NIOCore
import ServiceLifecycle

/// How OpenFeature calls the state of what provides flags.
package enum ProviderStatus: Sendable, Equatable {
    /// There never were flags from the source.
    case notReady
    case ready
    /// The flags are those of an earlier time.
    case stale(String)
    case error(String)
}

/// `GET /provider/events`: OpenFeature's events of a provider, as server-sent events.
///
/// A client that comes late receives the event of the present state at once, then each event in order. A change of flags is
/// `CONFIGURATION_CHANGED` with their names.
///
/// A client that is more than a thousand commits behind is left without the oldest: the next event names the flags that these have changed, too,
/// and says how many events the client was not sent.
struct ProviderEvents: Sendable {
    let flags: FeatureFlags
    let status: ReadOnly<ProviderStatus>
    let metrics: StreamMetrics
    /// How often to send something when nothing changes.
    let heartbeat: Duration

    func add(to router: Router<FlagRequestContext>) {
        router.get("provider/events") { request, context in
            EventResponse.make(request, context) { send in
                for await event in events { try await send(ByteBuffer(string: event)) }
            }
        }
    }

    private var events: some AsyncSequence<String, Never> {
        let states = status.values(includingInitial: true, buffering: .droppingOldest(1_000))
            .compactMap { ProviderEvent($0)?.encoded }
        let changes = ProviderChanges(
            commits: flags.commits(buffering: .droppingOldest(1_000)),
            dropped: metrics.providerDropped
        )
        let beats = AsyncTimerSequence.repeating(every: heartbeat).map { _ in ":\n\n" }
        return merge(states, changes.map(\.encoded), beats).cancelOnGracefulShutdown()
    }
}

/// The commits after the present one, for one client.
private struct ProviderChanges: AsyncSequence, Sendable {
    let commits: ObservationSequence<Change<[FlagState]>>
    let dropped: Counter

    func makeAsyncIterator() -> Iterator { Iterator(commits: commits.makeAsyncIterator(), counter: dropped) }

    struct Iterator: AsyncIteratorProtocol {
        var commits: ObservationSequence<Change<[FlagState]>>.Iterator
        let counter: Counter
        /// The version that the client knows of.
        private var last: UInt64?
        /// How many commits the client was not sent so far.
        private var dropped: UInt64 = 0

        init(commits: ObservationSequence<Change<[FlagState]>>.Iterator, counter: Counter) {
            (self.commits, self.counter) = (commits, counter)
        }

        mutating func next() async -> ProviderEvent? {
            while let commit = await commits.next() {
                let version = commit.new.latestVersion
                defer { last = version }
                // The first is the present state, which is no change.
                guard let last else { continue }
                // Each commit has the number after the one before.
                let missing = version - last - 1
                dropped += missing
                counter.increment(by: missing)
                return ProviderEvent(commit.new, after: last, dropped: dropped)
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

    /// Nothing is reported of a provider that was never ready.
    init?(_ status: ProviderStatus) {
        switch status {
        case .notReady: return nil
        case .ready: (name, details) = ("PROVIDER_READY", Details())
        case .stale(let message): (name, details) = ("PROVIDER_STALE", Details(message: message))
        case .error(let message): (name, details) = ("PROVIDER_ERROR", Details(message: message))
        }
    }

    init(_ flags: [FlagState], after last: UInt64, dropped: UInt64) {
        let changed = flags.filter { $0.version > last }.map(\.name.rawValue)
        name = "PROVIDER_CONFIGURATION_CHANGED"
        details = Details(flagsChanged: changed, version: flags.latestVersion, dropped: dropped)
    }

    var encoded: String {
        // A structure of texts and numbers can always be encoded.
        let data = (try? JSONEncoder().encode(details)) ?? Data()
        return "event: \(name)\ndata: \(String(decoding: data, as: UTF8.self))\n\n"
    }
}
