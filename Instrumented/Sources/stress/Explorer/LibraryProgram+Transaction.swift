// SPDX-License-Identifier: Apache-2.0

extension LibraryProgram {
    /// Two commits of the same properties, named in different orders. (P19)
    static let commitCommit = LibraryProgram(
        name: "commit-commit",
        summary: "two commits of two properties, whose groups name them in different orders",
        threads: [["commit X Y"], ["commit Y X"]]
    ) { backend in
        let world = CommitWorld(backend)
        return Program.Instance(
            threads: [[{ world.commit(world.group) }], [{ world.commit(world.reversed) }]],
            rest: [{ world.checkRest(2) }]
        )
    }

    /// A commit, and a thread that reads one property, then the other. (P19)
    static let commitRead = LibraryProgram(
        name: "commit-read",
        summary: "two commits of two properties against reads of one, then of the other",
        threads: [["commit", "commit"], ["read X, Y, X"]]
    ) { backend in
        let world = CommitWorld(backend)
        return Program.Instance(
            threads: [[{ world.commit(world.group) }, { world.commit(world.group) }], [{ world.read() }]],
            rest: [{ world.checkRest(2) }]
        )
    }

    /// Two commits, and a thread that takes a snapshot. (P20)
    static let commitSnapshot = LibraryProgram(
        name: "commit-snapshot",
        summary: "two commits of two properties against a snapshot",
        threads: [["commit", "commit"], ["snapshot"]]
    ) { backend in
        let world = CommitWorld(backend)
        return Program.Instance(
            threads: [[{ world.commit(world.group) }, { world.commit(world.group) }], [{ world.takeSnapshot() }]],
            rest: [{ world.checkRest(2) }]
        )
    }

    /// A commit that reads one property and changes the other, and a set of the first. (P19)
    static let commitReading = LibraryProgram(
        name: "commit-reading",
        summary: "a commit that sets one property to what it reads of another, against a set of that",
        threads: [["commit Y reading X"], ["set X", "look at Y"]]
    ) { backend in
        let world = CommitWorld(backend)
        return Program.Instance(
            threads: [[{ world.copyFirst() }], [{ world.first.value = 1 }, { world.lookAtSecond() }]],
            rest: [{ world.checkCopy() }]
        )
    }
}

/// Two properties that always change together, by one each.
final class CommitWorld: @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    private let backend: LibraryBackend
    /// In the order of their addresses, as a commit takes their locks: so a schedule has the same
    /// steps each time.
    let (first, second): (Observed<Int>, Observed<Int>)
    let group: Group<(Int, Int)>
    let reversed: Group<(Int, Int)>
    /// The second's version after the first was set.
    private var seen: UInt64 = 0

    init(_ backend: LibraryBackend) {
        self.backend = backend
        let properties = (Observed(0), Observed(0))
        (first, second) =
            ObjectIdentifier(properties.0) < ObjectIdentifier(properties.1) ? properties : (properties.1, properties.0)
        group = Group(first, second)
        reversed = Group(second, first)
    }

    private func check(_ holds: Bool, _ invariant: String, _ message: @autoclosure () -> String) {
        if !holds { backend.scheduler.fail(invariant, message()) }
    }

    func commit(_ group: Group<(Int, Int)>) {
        group.commit { transaction in
            backend.userStep("in the body")
            transaction[first] += 1
            transaction[second] += 1
        }
    }

    func read() {
        let x = first.snapshot()
        let y = second.snapshot()
        let again = first.version
        check(x.value == Int(x.version) && y.value == Int(y.version), "P2.version-fits", "read \(x), then \(y)")
        check(y.value >= x.value, "P19.one-seen-all-seen", "the first was \(x.value), then the second \(y.value)")
        check(Int(again) >= y.value, "P19.never-backwards", "the second was \(y.value), then the first \(again)")
    }

    func takeSnapshot() {
        let (x, y) = group.value
        check(x == y, "P20.present-together", "a snapshot has \(x) and \(y)")
    }

    /// Sets the second to what the first is.
    func copyFirst() {
        PropertyList([second]).commit(reading: first) { transaction in
            transaction[second] = transaction[first]
            backend.userStep("in the body")
        }
    }

    func modifyFirst() {
        first.modify { value in
            backend.userStep("in the body")
            value += 1
        }
    }

    /// After a commit and a `modify` of the first.
    func checkModified() {
        check(
            first.snapshot() == (2, 2) && second.snapshot() == (1, 1),
            "P2.no-lost-update",
            "after a commit and a modify: \(first.snapshot()) and \(second.snapshot())"
        )
    }

    /// After the first was set to 1.
    func lookAtSecond() { seen = second.version }

    func checkCopy() {
        let (value, version) = second.snapshot()
        check(
            version == seen || value == 1,
            "P19.read-held-still",
            "the first was 1 when the second had version \(seen), and version \(version) of that is \(value)"
        )
    }

    func checkRest(_ commits: Int) {
        check(
            first.value == commits && second.value == commits && first.version == UInt64(commits)
                && second.version == UInt64(commits),
            "P2.versions-without-gaps",
            "after \(commits) commits: \(first.snapshot()) and \(second.snapshot())"
        )
    }
}
