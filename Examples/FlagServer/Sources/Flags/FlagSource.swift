// SPDX-License-Identifier: Apache-2.0

import Hummingbird

/// Where the flags live.
package struct FlagSource: Sendable {
    /// Changes flags as one commit. When it returns, their properties have the changes, or later ones.
    let change: @Sendable ([Flag.Name: Flag]) async throws -> Void
    let state: @Sendable () -> SourceState

    /// - Parameter change: Throws `SourceUnavailable` if nothing was changed, or it is not known.
    package init(
        change: @escaping @Sendable ([Flag.Name: Flag]) async throws -> Void,
        state: @escaping @Sendable () -> SourceState
    ) {
        self.change = change
        self.state = state
    }

    /// The flags live in this process alone.
    static func memory(_ flags: FeatureFlags) -> FlagSource {
        FlagSource(
            change: { changes in flags.change(changes) },
            state: { SourceState(source: "memory", state: "ready", staleSeconds: nil, error: nil, revision: nil) }
        )
    }
}

/// `{"source": "etcd", "state": "stale", "staleSeconds": 3.5, "error": "…", "revision": 17}`
package struct SourceState: ResponseEncodable, Sendable {
    let source: String
    let state: String
    /// How old the flags may be; nil if they are current.
    let staleSeconds: Double?
    let error: String?
    let revision: Int64?

    package init(source: String, state: String, staleSeconds: Double?, error: String?, revision: Int64?) {
        self.source = source
        self.state = state
        self.staleSeconds = staleSeconds
        self.error = error
        self.revision = revision
    }
}

/// A change was not made, or it is not known whether it was.
package struct SourceUnavailable: Error {
    let message: String

    package init(message: String) { self.message = message }
}
