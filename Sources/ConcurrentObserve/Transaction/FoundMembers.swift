// SPDX-License-Identifier: Apache-2.0

/// The members of a group that a commit or a snapshot can name.
internal struct FoundMembers {
    /// The properties, and whether a commit only reads them.
    private(set) var properties: [(property: any CommitMember, isHeldStill: Bool)] = []
    /// The paths of several steps. Each commit finds out where they lead.
    private(set) var paths: [(path: any TracedPath, isHeldStill: Bool)] = []
    /// Whether there are members that no commit can change.
    private(set) var hasOthers = false
    private var isHeldStill = false

    mutating func add(_ property: any CommitMember) { properties.append((property, isHeldStill)) }

    mutating func add(_ path: any TracedPath) { paths.append((path, isHeldStill)) }

    /// Adds the members that an observable property consists of.
    mutating func add(of property: some ObservableProperty) {
        guard let holder = property as? any MemberHolding else {
            hasOthers = true
            return
        }
        holder.addMembers(to: &self)
    }

    /// Adds properties that a commit reads and does not change.
    mutating func addHeldStill(_ add: (inout FoundMembers) -> Void) {
        let before = isHeldStill
        isHeldStill = true
        add(&self)
        isHeldStill = before
    }
}
