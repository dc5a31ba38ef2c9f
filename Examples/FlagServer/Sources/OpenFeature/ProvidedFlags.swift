// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// A flag as OpenFeature's protocols show it.
package struct ProvidedFlag: Sendable {
    let name: String
    let isEnabled: Bool
    /// How many of a hundred users get the flag, from 0 to 100.
    let rollout: UInt8
    /// The commit that has changed it last.
    let version: UInt64

    package init(name: String, isEnabled: Bool, rollout: UInt8 = 100, version: UInt64) {
        (self.name, self.isEnabled, self.rollout, self.version) = (name, isEnabled, rollout, version)
    }

    /// Whether it is on for some users, and off for others.
    var isForSome: Bool { isEnabled && rollout < 100 }
}

/// All flags, as one commit has left them.
package struct ProvidedFlags: Sendable {
    let flags: [ProvidedFlag]
    /// The commit's number.
    let version: UInt64

    package init(_ flags: [ProvidedFlag], version: UInt64) { (self.flags, self.version) = (flags, version) }
}

/// Where OpenFeature's protocols have the flags from.
package struct FlagProvider<State: Sendable>: Sendable {
    let all: PropertyList<Observed<State>>
    let status: ReadOnly<ProviderStatus>
    /// Whether there ever were flags from the source: until then, nothing is known of any flag.
    let hasFlags: ReadOnly<Bool>
    /// Waits a while for what the source has now: a client comes from a server that showed it.
    let catchUp: @Sendable () async -> Void
    /// How the states of one commit are shown.
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

    /// The present state of all flags, then the state after each commit. A reader that is a
    /// thousand commits behind is left without the oldest.
    var commits: ObservationSequence<Change<[State]>> {
        all.changes(options: .initial, buffering: .droppingOldest(1_000))
    }
}
