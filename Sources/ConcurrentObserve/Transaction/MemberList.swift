// SPDX-License-Identifier: Apache-2.0

/// The properties of a group in the order of their addresses (`Member.address`), each once.
@safe
internal struct MemberList: ~Copyable {
    let members: UnsafeBufferPointer<Member>
    /// Whether `members` is the whole group: it has no path of several steps, and a commit can
    /// change each member.
    let isComplete: Bool
    /// The paths of several steps, and whether a commit only reads the property that each leads to.
    /// `members` does not include these properties.
    let paths: [(path: any TracedPath, isHeldStill: Bool)]
    /// The properties of `members`, which this array retains, and whether a commit only reads each.
    let properties: [(property: any CommitMember, isHeldStill: Bool)]
    private let hasOthers: Bool

    init(_ found: FoundMembers) {
        isComplete = !found.hasOthers && found.paths.isEmpty
        (properties, paths, hasOthers) = (found.properties, found.paths, found.hasOthers)
        let ordered = Self.ordered(
            found.properties.map { property, isHeldStill in
                var member = property.member
                member.isHeldStill = isHeldStill
                return member
            }
        )
        // Safe: freed below.
        let members = UnsafeMutableBufferPointer<Member>.allocate(capacity: ordered.count)
        _ = unsafe members.initialize(fromContentsOf: ordered)
        unsafe self.members = UnsafeBufferPointer(members)
    }

    deinit {
        // Safe: `init` has made the buffer.
        let members = unsafe UnsafeMutableBufferPointer(mutating: self.members)
        unsafe members.deallocate()
    }

    private static func ordered(_ found: [Member]) -> [Member] {
        // If a property is named twice, the entry that may be set comes first, and is kept.
        let sorted = found.sorted { left, right in
            (left.address, left.isHeldStill ? 1 : 0) < (right.address, right.isHeldStill ? 1 : 0)
        }
        var previous: UInt = 0
        return sorted.filter { member in
            defer { previous = member.address }
            return member.address != previous
        }
    }

    /// Traps if the group has members that no commit can change.
    func trapOthers() {
        guard hasOthers else { return }
        fatalError(
            "ConcurrentObserve: commit was called with a derived value or a property type of yours. Make a group of the properties that change together, and name those that the body reads in `reading:`."
        )
    }
}

/// The members of a group, while they are being found: properties, and paths of several steps.
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

    /// Calls `add` with this object. A commit only reads the members that `add` adds.
    mutating func addHeldStill(_ add: (inout FoundMembers) -> Void) {
        let before = isHeldStill
        isHeldStill = true
        add(&self)
        isHeldStill = before
    }
}
