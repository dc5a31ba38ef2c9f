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

/// A flag as one commit has left it.
package struct FlagState: Sendable, Equatable {
    package let name: Flag.Name
    package var flag = Flag()
    /// The number of the commit that has changed the flag last; 0 before the first.
    package var version: UInt64 = 0
}

/// A flag that no request sets: it is computed from others.
package struct DerivedFlag: Sendable, Equatable {
    package let name: String
    package let isEnabled: Bool
}
