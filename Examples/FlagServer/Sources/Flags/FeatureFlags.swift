// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// The service's flags: any request reads and changes them, any stream observes them.
package final class FeatureFlags: Sendable {
    let newCheckout = Observed(FlagState(name: .newCheckout))
    let searchSuggestions = Observed(FlagState(name: .searchSuggestions))
    let darkMode = Observed(FlagState(name: .darkMode))
    let bulkExport = Observed(FlagState(name: .bulkExport))
    let maintenance = Observed(FlagState(name: .maintenance))

    /// All of them, in the order of their names, changed and observed as one.
    package let all: PropertyList<Observed<FlagState>>
    /// Whether customers can use the new checkout: it is enabled, and there is no maintenance.
    package let checkoutOpen: Derived<DerivedFlag>

    init() {
        all = PropertyList([newCheckout, searchSuggestions, darkMode, bulkExport, maintenance])
        checkoutOpen = Derived(newCheckout, maintenance) { .checkoutOpen($0.flag, maintenance: $1.flag) }
    }
}

extension FeatureFlags {
    /// The property with a flag's name.
    package subscript(name: Flag.Name) -> Observed<FlagState> {
        switch name {
        case .newCheckout: newCheckout
        case .searchSuggestions: searchSuggestions
        case .darkMode: darkMode
        case .bulkExport: bulkExport
        case .maintenance: maintenance
        }
    }

    /// Changes these flags as one commit: no reader and no stream sees some of the changes and not the others.
    package func change(_ flags: [Flag.Name: Flag]) {
        all.commit { drafts in
            // No other commit changes a flag meanwhile, also those that this one leaves alone.
            var last: UInt64 = 0
            for name in Flag.Name.allCases { last = max(last, drafts[self[name]].version) }
            for (name, flag) in flags { drafts[self[name]] = FlagState(name: name, flag: flag, version: last + 1) }
        }
    }

    /// All flags, as they were together at one moment. Never waits for a commit.
    package var snapshot: FlagSnapshot { FlagSnapshot(flags: all.value) }

    /// The present state of all flags, then the state after each commit.
    package func commits(buffering: Buffering) -> ObservationSequence<Change<[FlagState]>> {
        all.changes(options: .initial, buffering: buffering)
    }
}

extension DerivedFlag {
    fileprivate static func checkoutOpen(_ newCheckout: Flag, maintenance: Flag) -> DerivedFlag {
        DerivedFlag(name: "checkout-open", isEnabled: newCheckout.isEnabled && !maintenance.isEnabled)
    }
}

/// All flags, as one commit has left them.
package struct FlagSnapshot: Sendable {
    /// In the order of their names.
    package let flags: [FlagState]

    package init(flags: [FlagState]) { self.flags = flags }

    /// The commit's number.
    package var version: UInt64 { flags.latestVersion }

    package subscript(name: Flag.Name) -> Flag { flags.first { $0.name == name }!.flag }

    package var derived: [DerivedFlag] { [.checkoutOpen(self[.newCheckout], maintenance: self[.maintenance])] }
}

extension [FlagState] {
    /// The number of the last commit that has changed one of these.
    var latestVersion: UInt64 { reduce(0) { Swift.max($0, $1.version) } }
}
