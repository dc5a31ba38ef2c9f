// SPDX-License-Identifier: Apache-2.0

/// A path of several steps that is a member of a group. The property that it leads to depends on
/// the values of the properties on the way.
internal protocol TracedPath: Sendable {
    /// Follows the path, and records in `trace` the properties on the way and the last property.
    /// This evaluates the user's key paths, so the caller must hold no lock. (P5)
    func follow(_ trace: inout PathTrace)
}

/// The properties to which the paths of a group lead, and the properties on the way, as a commit
/// finds them before it takes the locks. For the properties on the way, the trace also has their
/// versions.
///
/// Under the locks, the commit compares the versions. If no version has changed, the paths lead to
/// these properties until the commit is published.
internal struct PathTrace {
    private(set) var found = FoundMembers()
    private var links: [(property: any CommitMember, version: UInt64)] = []
    /// The objects to which the properties on the way refer. This array retains them, because a
    /// weak property does not retain its referent.
    private var objects: [AnyObject] = []

    init(_ list: borrowing MemberList) {
        for property in list.properties { add(property.property, isHeldStill: property.isHeldStill) }
        for (path, isHeldStill) in list.paths {
            if isHeldStill {
                var held = PathTrace(path)
                take(&held)
            } else {
                path.follow(&self)
            }
        }
    }

    private init(_ path: any TracedPath) { path.follow(&self) }

    private mutating func add(_ property: any CommitMember, isHeldStill: Bool) {
        if isHeldStill { found.addHeldStill { $0.add(property) } } else { found.add(property) }
    }

    /// Takes over the contents of `other`, the trace of a path that leads to a property which the
    /// commit only reads.
    private mutating func take(_ other: inout PathTrace) {
        for (property, _) in other.found.properties { add(property, isHeldStill: true) }
        links += other.links
        objects += other.objects
    }

    /// Records that the path leads through `property`, and that its value at `version` was
    /// `object`. The body may not set that property, unless the property is a member, too.
    mutating func pass(_ property: any CommitMember, at version: UInt64, to object: AnyObject?) {
        add(property, isHeldStill: true)
        links.append((property, version))
        if let object { objects.append(object) }
    }

    /// Records that the path ends in `property`.
    mutating func end(_ property: any CommitMember) { found.add(property) }

    /// Whether the paths still lead to the properties of this trace: no property on the way has
    /// another version. The caller must hold the mutation locks of the properties.
    var isPresent: Bool {
        return links.allSatisfy { $0.property.member.version == $0.version }
    }
}
