// SPDX-License-Identifier: Apache-2.0

/// The value of a feature flag. Small and plain: an observed property keeps it in place, and
/// setting one allocates nothing.
package struct Flag: Sendable, Equatable {
    package var isEnabled: Bool
    /// How many of a hundred users get the flag, from 0 to 100.
    package var rollout: UInt8

    package init(isEnabled: Bool = false, rollout: UInt8 = 100) {
        (self.isEnabled, self.rollout) = (isEnabled, rollout)
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
    package let flag: Flag
    /// Whether the place that keeps the flags has this one. A flag that it does not have is off.
    package let isKept: Bool
    /// The number of the commit that has changed the flag last: etcd's revision, where it is kept
    /// there. 0 before the first.
    package let version: UInt64

    package init(name: Flag.Name, flag: Flag = Flag(), version: UInt64 = 0, isKept: Bool = true) {
        (self.name, self.flag, self.version, self.isKept) = (name, flag, version, isKept)
    }
}

/// A flag that no request sets: it is computed from others.
struct DerivedFlag: Sendable, Equatable {
    let name: String
    let isEnabled: Bool

    /// The rule: customers can use the new checkout if it is enabled, and there is no maintenance.
    static func checkoutOpen(_ newCheckout: Flag, maintenance: Flag) -> DerivedFlag {
        DerivedFlag(name: "checkout-open", isEnabled: newCheckout.isEnabled && !maintenance.isEnabled)
    }
}

/// All flags, as one commit has left them.
package struct FlagSnapshot: Sendable {
    /// In the order of their names.
    package let flags: [FlagState]

    /// The number of the last commit that has changed one of them.
    var version: UInt64 { flags.reduce(0) { max($0, $1.version) } }

    package subscript(name: Flag.Name) -> FlagState { flags.first { $0.name == name }! }

    /// Computed from the same commit: they never contradict the flags beside them.
    var derived: [DerivedFlag] { [.checkoutOpen(self[.newCheckout].flag, maintenance: self[.maintenance].flag)] }
}
