// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// A flag for OpenFeature's protocols.
package struct ProvidedFlag: Sendable {
    let name: String
    let isEnabled: Bool
    /// The number of users, out of a hundred, who get the flag: from 0 to 100.
    let rollout: UInt8
    /// The number of the last commit that has changed it.
    let version: UInt64

    package init(name: String, isEnabled: Bool, rollout: UInt8 = 100, version: UInt64) {
        (self.name, self.isEnabled, self.rollout, self.version) = (name, isEnabled, rollout, version)
    }

    /// Whether the flag is on for some users, and off for others.
    var isForSome: Bool { isEnabled && rollout < 100 }
}

/// All flags after one commit.
package struct ProvidedFlags: Sendable {
    let flags: [ProvidedFlag]
    /// The number of the commit.
    let version: UInt64

    package init(_ flags: [ProvidedFlag], version: UInt64) { (self.flags, self.version) = (flags, version) }
}

/// The source of the flags for OpenFeature's protocols.
package struct FlagProvider<State: Sendable>: Sendable {
    let all: PropertyList<Observed<State>>
    let status: ReadOnly<ProviderStatus>
    /// Whether flags have come from the source. Before that, no flag is known.
    let hasFlags: ReadOnly<Bool>
    /// Waits some time for the present flags of the source: a client may come from a server that
    /// showed them.
    let catchUp: @Sendable () async -> Void
    /// Converts the states of one commit.
    let show: @Sendable ([State]) -> ProvidedFlags

    package init(
        _ all: PropertyList<Observed<State>>,
        status: ReadOnly<ProviderStatus>,
        hasFlags: ReadOnly<Bool>,
        catchUp: @escaping @Sendable () async -> Void,
        show: @escaping @Sendable ([State]) -> ProvidedFlags
    ) {
        (self.all, self.status, self.hasFlags) = (all, status, hasFlags)
        (self.catchUp, self.show) = (catchUp, show)
    }

    /// All flags, as they are now.
    var present: ProvidedFlags { show(all.value) }

    /// The present state of all flags, and then the state after each commit. If a reader is more
    /// than a thousand commits behind, the oldest ones are left out.
    var commits: ObservationSequence<Change<[State]>> {
        all.changes(options: .initial, buffering: .droppingOldest(1_000))
    }
}
