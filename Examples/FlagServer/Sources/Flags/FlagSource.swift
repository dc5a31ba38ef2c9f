// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Hummingbird

/// Where the flags live.
package struct FlagSource: Sendable {
    /// Changes flags as one commit. When it returns, their properties have the changes, or later ones.
    let change: @Sendable ([Flag.Name: Flag]) async throws -> Void
    let state: @Sendable () -> SourceState
    package let status: ReadOnly<ProviderStatus>
    /// Whether there ever were flags from the source: until then, nothing is known of any flag.
    package let hasFlags: ReadOnly<Bool>

    /// - Parameter change: Throws `SourceUnavailable` if nothing was changed, or it is not known.
    package init(
        change: @escaping @Sendable ([Flag.Name: Flag]) async throws -> Void,
        state: @escaping @Sendable () -> SourceState,
        status: ReadOnly<ProviderStatus>,
        hasFlags: ReadOnly<Bool>
    ) {
        self.change = change
        self.state = state
        self.status = status
        self.hasFlags = hasFlags
    }

    /// The flags live in this process alone.
    static func memory(_ flags: FeatureFlags) -> FlagSource {
        FlagSource(
            change: { changes in flags.change(changes) },
            state: { SourceState(source: "memory", state: "ready") },
            status: Observed(.ready).readOnly,
            hasFlags: Observed(true).readOnly
        )
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
    /// What is wrong with the present values of flags, which keep their last good ones; nil if nothing is.
    let malformed: [String: String]?

    package init(
        source: String,
        state: String,
        staleSeconds: Double? = nil,
        error: String? = nil,
        revision: Int64? = nil,
        malformed: [String: String] = [:]
    ) {
        self.source = source
        self.state = state
        self.staleSeconds = staleSeconds
        self.error = error
        self.revision = revision
        self.malformed = malformed.isEmpty ? nil : malformed
    }
}

/// A change was not made, or it is not known whether it was.
package struct SourceUnavailable: Error {
    let message: String

    package init(message: String) { self.message = message }
}
