// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Foundation
import Hummingbird
import OpenFeature

/// The place that keeps the flags.
package struct FlagSource: Sendable {
    /// Changes flags as one commit. When it returns, their properties have the changes, or later
    /// ones.
    ///
    /// Throws `StaleWriter` if the condition does not hold, `SourceUnavailable` if nothing was
    /// changed, or it is not known.
    let change: @Sendable ([Flag.Name: Flag], WriteCondition?) async throws -> Void
    /// Waits until the flags are at least as new as a version that a client has seen, perhaps at
    /// another server; nil for any version that there is now. False if that takes too long.
    let reach: @Sendable (UInt64?) async -> Bool
    let state: @Sendable () -> SourceState
    let status: ReadOnly<ProviderStatus>
    /// Whether there ever were flags from the source: until then, nothing is known of any flag.
    let hasFlags: ReadOnly<Bool>
    /// Names the source's count of versions: all servers on one etcd have the same, and this
    /// process alone has its own.
    let series: String
    /// Whether a server that starts later knows less of flags that have been removed.
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

    /// Flags that live only in this process.
    static func memory(_ flags: FeatureFlags) -> FlagSource {
        FlagSource(
            change: { changes, condition in try flags.change(changes, if: condition) },
            state: { SourceState(source: "memory", state: "ready") },
            status: Observed(.ready).readOnly,
            hasFlags: Observed(true).readOnly
        )
    }

    /// A version as entity tags and the identifiers of events name it.
    func tag(_ version: UInt64) -> String { "\(series):\(version)" }

    /// The version that a tag names; nil if the tag belongs to another series.
    func version(_ tag: String) -> UInt64? {
        tag.hasPrefix("\(series):") ? UInt64(tag.dropFirst(series.count + 1)) : nil
    }

    /// Whether a client that has the flags of a version has these after the flags that are newer.
    func canResume(_ snapshot: FlagSnapshot, after version: UInt64) -> Bool {
        version <= snapshot.version && !(forgetsRemovals && snapshot.flags.contains { $0.version == 0 })
    }
}

/// `{"source": "etcd", "state": "stale", "staleSeconds": 3.5, "error": "…", "revision": 17, "malformed": {"dark-mode": "…"}}`
package struct SourceState: ResponseEncodable, Sendable {
    let source: String
    let state: String
    /// How old the flags may be; nil if they are current.
    let staleSeconds: Double?
    let error: String?
    let revision: Int64?
    /// The faults of present values, by the names of the flags. Such a flag keeps its last good
    /// value. Nil if there is no fault.
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

/// A change was not made, or it is not known whether it was.
package struct SourceUnavailable: Error {
    let message: String

    package init(message: String) { self.message = message }
}
