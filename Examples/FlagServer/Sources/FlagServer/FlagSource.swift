// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Foundation
import Hummingbird
import OpenFeature

/// The source of the flags, where they are stored.
package struct FlagSource: Sendable {
    /// Changes flags in one commit. When it returns, the properties have these changes or later
    /// ones.
    ///
    /// Throws `StaleWriter` if the condition does not hold. Throws `SourceUnavailable` if nothing
    /// was changed, or if that is not known.
    let change: @Sendable ([Flag.Name: Flag], WriteCondition?) async throws -> Void
    /// Waits until the flags are at least as new as a version that a client has seen, perhaps at
    /// another server. Nil stands for the present version of the source. Returns false if this
    /// takes too long.
    let reach: @Sendable (UInt64?) async -> Bool
    let state: @Sendable () -> SourceState
    let status: ReadOnly<ProviderStatus>
    /// Whether flags have come from the source. Before that, no flag is known.
    let hasFlags: ReadOnly<Bool>
    /// The name of the source's series of versions. All servers with the same etcd have the same
    /// series. A process without a source has its own.
    let series: String
    /// Whether a server that starts later does not know which flags were removed.
    let forgetsRemovals: Bool

    package init(
        change: @escaping @Sendable ([Flag.Name: Flag], WriteCondition?) async throws -> Void,
        reach: @escaping @Sendable (UInt64?) async -> Bool = { _ in true },
        state: @escaping @Sendable () -> SourceState,
        status: ReadOnly<ProviderStatus>,
        hasFlags: ReadOnly<Bool>,
        series: String = String(UInt64.random(in: .min ... .max), radix: 36),
        forgetsRemovals: Bool = false
    ) {
        (self.change, self.reach, self.state) = (change, reach, state)
        (self.status, self.hasFlags) = (status, hasFlags)
        (self.series, self.forgetsRemovals) = (series, forgetsRemovals)
    }

    /// Returns a source for flags that exist only in this process.
    static func memory(_ flags: FeatureFlags) -> FlagSource {
        FlagSource(
            change: { changes, condition in try flags.change(changes, if: condition) },
            state: { SourceState(source: "memory", state: "ready") },
            status: Observed(.ready).readOnly,
            hasFlags: Observed(true).readOnly
        )
    }

    /// Returns a version as entity tags and the ids of events name it.
    func tag(_ version: UInt64) -> String { "\(series):\(version)" }

    /// Returns the version that a tag names; nil if the tag belongs to another series.
    func version(_ tag: String) -> UInt64? {
        tag.hasPrefix("\(series):") ? UInt64(tag.dropFirst(series.count + 1)) : nil
    }

    /// Returns whether a client with the flags of a version is up to date after it has received the
    /// newer flags.
    func canResume(_ snapshot: FlagSnapshot, after version: UInt64) -> Bool {
        version <= snapshot.version && !(forgetsRemovals && snapshot.flags.contains { $0.version == 0 })
    }
}

/// `{"source": "etcd", "state": "stale", "staleSeconds": 3.5, "error": "…", "revision": 17, "malformed": {"dark-mode": "…"}}`
package struct SourceState: ResponseEncodable, Sendable {
    let source: String
    let state: String
    /// The age of the flags in seconds; nil if they are current.
    let staleSeconds: Double?
    let error: String?
    let revision: Int64?
    /// The faults of present values, by the names of the flags. Such a flag keeps its last good
    /// value. Nil if there are none.
    let malformed: [String: String]?

    package init(
        source: String,
        state: String,
        staleSeconds: Double? = nil,
        error: String? = nil,
        revision: Int64? = nil,
        malformed: [String: String] = [:]
    ) {
        (self.source, self.state, self.staleSeconds, self.error) = (source, state, staleSeconds, error)
        (self.revision, self.malformed) = (revision, malformed.isEmpty ? nil : malformed)
    }
}

/// Thrown if a change was not made, or if that is not known.
package struct SourceUnavailable: Error {
    let message: String

    package init(message: String) { self.message = message }
}
