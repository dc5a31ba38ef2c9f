// SPDX-License-Identifier: Apache-2.0

extension Collector: MemberReader {}

extension Group: DerivationSource {
    func read(into collector: Collector) -> Value {
        collector.isOnDrafts ? readEach(collector) : members.read(self, into: collector)
    }
}

extension PropertyList: DerivationSource {
    func read(into collector: Collector) -> [Property.Value] {
        collector.isOnDrafts ? properties.map(collector.read) : members.read(self, into: collector)
    }
}

extension GroupMembers {
    /// Returns the present values of a group, which keeps these members. If these are all its
    /// members, the derived value follows each, as if its function had read one after the other,
    /// but the values were present together. Otherwise it follows the group.
    fileprivate func read<Whole: ObservableProperty>(_ group: Whole, into collector: Collector) -> Whole.Value {
        // Safe, all: the caller keeps the group, which keeps the list.
        guard unsafe list.pointee.isComplete else {
            let (value, version) = group.snapshot()
            collector.note(OtherProperty(group), version)
            return value
        }
        let members = unsafe list.pointee.members
        var wait = Backoff()
        while true {
            let versions = unsafe members.map(\.version)
            let value = group.value
            // Each version only grows, so the values belong to these versions.
            if unsafe zip(members, versions).allSatisfy({ member, version in member.version == version }) {
                for index in versions.indices {
                    // Every member is an `Observed`.
                    let root = unsafe members[index].property as! any DerivationRoot
                    collector.note(root, versions[index], isRetained: true)
                }
                return value
            }
            wait.pause()
        }
    }
}
