// SPDX-License-Identifier: Apache-2.0

/// What a feature flag says. Small and plain: an observed property keeps it in place, and setting one allocates nothing.
package struct Flag: Sendable, Equatable {
    package var isEnabled: Bool
    /// For how many of a hundred users, from 0 to 100.
    package var rollout: UInt8

    package init(isEnabled: Bool = false, rollout: UInt8 = 100) {
        self.isEnabled = isEnabled
        self.rollout = rollout
    }

    /// The names of all flags, as they appear in URLs and events.
    package enum Name: String, CaseIterable, Sendable {
        case newCheckout = "new-checkout"
        case searchSuggestions = "search-suggestions"
        case darkMode = "dark-mode"
        case bulkExport = "bulk-export"
        case maintenance
    }
}

/// A flag as one of its versions had it.
struct FlagState: Sendable, Equatable {
    let name: Flag.Name
    let flag: Flag
    /// The number of the flag's changes so far.
    let version: UInt64
}
