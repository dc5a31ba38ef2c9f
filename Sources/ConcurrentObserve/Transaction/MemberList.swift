// SPDX-License-Identifier: Apache-2.0

/// The properties of a group, in the order of their locks, each once.
@safe
internal struct MemberList: ~Copyable {
    let members: UnsafeBufferPointer<Member>
    /// Whether all values of the group are those of the members.
    let isComplete: Bool
    /// Retains them.
    private let properties: [any CommitMember]

    init(_ add: (inout [any CommitMember]) -> Bool) {
        var found: [any CommitMember] = []
        isComplete = add(&found)
        properties = found
        let ordered = Self.ordered(found.map(\.member))
        // Safe: freed below.
        let members = UnsafeMutableBufferPointer<Member>.allocate(capacity: ordered.count)
        _ = unsafe members.initialize(fromContentsOf: ordered)
        unsafe self.members = UnsafeBufferPointer(members)
    }

    deinit {
        // Safe: `init` has made them.
        let members = unsafe UnsafeMutableBufferPointer(mutating: self.members)
        unsafe members.deallocate()
    }

    private static func ordered(_ found: [Member]) -> [Member] {
        #if INSTRUMENTED
        if mutant(.locksAreTakenByDeclaration) { return found }
        #endif
        var previous: UInt = 0
        return found.sorted { $0.lockAddress < $1.lockAddress }.filter { member in
            defer { previous = member.lockAddress }
            return member.lockAddress != previous
        }
    }
}
