// SPDX-License-Identifier: Apache-2.0

/// The value of a feature flag. It is small and plain: an observed property stores it in place, and
/// setting it allocates nothing.
package struct Flag: Sendable, Equatable {
    package var isEnabled: Bool
    /// The number of users, out of a hundred, who get the flag: from 0 to 100.
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

/// The state of a flag after a commit.
package struct FlagState: Sendable, Equatable {
    package let name: Flag.Name
    package let flag: Flag
    /// Whether the source of the flags has this one. If not, the flag is off.
    package let isKept: Bool
    /// The number of the last commit that has changed the flag. If etcd is the source, it is etcd's
    /// revision. It is 0 before the first change.
    package let version: UInt64

    package init(name: Flag.Name, flag: Flag = Flag(), version: UInt64 = 0, isKept: Bool = true) {
        (self.name, self.flag, self.version, self.isKept) = (name, flag, version, isKept)
    }
}

/// A flag that no request can set. It is computed from other flags.
struct DerivedFlag: Sendable, Equatable {
    let name: String
    let isEnabled: Bool

    /// The rule: customers can use the new checkout if it is enabled, and there is no maintenance.
    static func checkoutOpen(_ newCheckout: Flag, maintenance: Flag) -> DerivedFlag {
        DerivedFlag(name: "checkout-open", isEnabled: newCheckout.isEnabled && !maintenance.isEnabled)
    }
}

/// All flags after one commit.
package struct FlagSnapshot: Sendable {
    /// The flags in the order of their names.
    package let flags: [FlagState]

    /// The number of the last commit that has changed one of them.
    var version: UInt64 { flags.reduce(0) { max($0, $1.version) } }

    package subscript(name: Flag.Name) -> FlagState { flags.first { $0.name == name }! }

    /// The derived flags of the same commit. They never contradict the flags.
    var derived: [DerivedFlag] { [.checkoutOpen(self[.newCheckout].flag, maintenance: self[.maintenance].flag)] }
}
