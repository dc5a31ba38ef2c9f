// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// The service's flags. Any request can read and change them, and any stream can observe them.
package final class FeatureFlags: Sendable {
    let newCheckout = Observed(FlagState(name: .newCheckout))
    let searchSuggestions = Observed(FlagState(name: .searchSuggestions))
    let darkMode = Observed(FlagState(name: .darkMode))
    let bulkExport = Observed(FlagState(name: .bulkExport))
    let maintenance = Observed(FlagState(name: .maintenance))

    /// All flags in the order of their names. They are changed and observed together.
    let all: PropertyList<Observed<FlagState>>
    /// Whether customers can use the new checkout.
    let checkoutOpen: Derived<DerivedFlag>

    init() {
        all = PropertyList([newCheckout, searchSuggestions, darkMode, bulkExport, maintenance])
        checkoutOpen = Derived(newCheckout, maintenance) { .checkoutOpen($0.flag, maintenance: $1.flag) }
    }
}

extension FeatureFlags {
    /// Returns the property of the flag with this name.
    package subscript(name: Flag.Name) -> Observed<FlagState> {
        switch name {
        case .newCheckout: newCheckout
        case .searchSuggestions: searchSuggestions
        case .darkMode: darkMode
        case .bulkExport: bulkExport
        case .maintenance: maintenance
        }
    }

    /// Changes these flags in one commit. No reader and no stream sees only a part of the changes.
    ///
    /// - Throws: `StaleWriter` if the condition does not hold. Then nothing is changed.
    package func change(_ flags: [Flag.Name: Flag], if condition: WriteCondition? = nil) throws(StaleWriter) {
        try all.commit { drafts throws(StaleWriter) in
            // No other commit changes a flag while this one runs, not even a flag that this one
            // does not touch.
            var present: [FlagState] = []
            for name in Flag.Name.allCases { present.append(drafts[self[name]]) }
            let snapshot = FlagSnapshot(flags: present)
            try condition?.check(snapshot)
            let version = snapshot.version + 1
            for (name, flag) in flags { drafts[self[name]] = FlagState(name: name, flag: flag, version: version) }
        }
    }

    /// Sets the flags to states that their source has numbered, in one commit.
    package func show(_ states: [FlagState]) {
        all.commit { drafts in
            for state in states { drafts[self[state.name]] = state }
        }
    }

    /// All flags as they were at one moment. Never waits for a commit.
    package var snapshot: FlagSnapshot { FlagSnapshot(flags: all.value) }

    /// Returns the present state of all flags, and then the state after each commit.
    func commits(buffering: Buffering) -> ObservationSequence<Change<[FlagState]>> {
        all.changes(options: .initial, buffering: buffering)
    }
}

/// The condition of a change: the version that the writer has read must still be present.
package struct WriteCondition: Sendable {
    /// The flag whose version it is; nil for the version of all flags.
    package let name: Flag.Name?
    /// The possible versions. One of them must be the present one.
    let versions: Set<UInt64>

    package func check(_ present: FlagSnapshot) throws(StaleWriter) {
        let version = name.map { present[$0].version } ?? present.version
        guard versions.contains(version) else { throw StaleWriter() }
    }
}

/// Thrown if another change came first. Nothing was changed.
package struct StaleWriter: Error {
    package init() {}
}
