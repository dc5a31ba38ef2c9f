// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// The service's flags: any request reads and changes them, any stream observes them.
package final class FeatureFlags: Sendable {
    let newCheckout = Observed(Flag())
    let searchSuggestions = Observed(Flag())
    let darkMode = Observed(Flag())
    let bulkExport = Observed(Flag())
    let maintenance = Observed(Flag())
}

extension FeatureFlags {
    /// The property with a flag's name.
    package subscript(name: Flag.Name) -> Observed<Flag> {
        switch name {
        case .newCheckout: newCheckout
        case .searchSuggestions: searchSuggestions
        case .darkMode: darkMode
        case .bulkExport: bulkExport
        case .maintenance: maintenance
        }
    }

    /// A flag's present value, with the version that it belongs to. Never waits.
    func state(of name: Flag.Name) -> FlagState {
        let (flag, version) = self[name].snapshot()
        return FlagState(name: name, flag: flag, version: version)
    }

    /// All flags, each as it is when it is read.
    var states: [FlagState] { Flag.Name.allCases.map(state(of:)) }
}
