// SPDX-License-Identifier: Apache-2.0

/// Two properties that always change together, by one each.
final class CommitWorld: ProgramPart, @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    let backend: LibraryBackend
    /// The properties in the order of their addresses, in which a commit takes their locks. A
    /// schedule therefore has the same steps each time.
    let (first, second): (Observed<Int>, Observed<Int>)
    let group, reversed: Group<(Int, Int)>
    /// The version of the second property after the first one was set.
    private var seen: UInt64 = 0

    init(_ backend: LibraryBackend) {
        self.backend = backend
        let properties = (Observed(0), Observed(0))
        (first, second) =
            ObjectIdentifier(properties.0) < ObjectIdentifier(properties.1) ? properties : (properties.1, properties.0)
        (group, reversed) = (Group(first, second), Group(second, first))
    }

    func commit(reversed isReversed: Bool = false) {
        (isReversed ? reversed : group).commit { transaction in
            step("in the body")
            transaction[first] += 1
            transaction[second] += 1
        }
    }

    /// Sets both properties in one commit.
    func set(_ value: Int) {
        group.commit { transaction in
            transaction[first] = value
            transaction[second] = value
        }
    }

    func read() {
        let (x, y, again) = (first.snapshot(), second.snapshot(), first.version)
        check(x.value == Int(x.version) && y.value == Int(y.version), "P2.version-fits", "read \(x), then \(y)")
        check(y.value >= x.value, "P19.one-seen-all-seen", "the first was \(x.value), then the second \(y.value)")
        check(Int(again) >= y.value, "P19.never-backwards", "the second was \(y.value), then the first \(again)")
    }

    func takeSnapshot() {
        let (x, y) = group.value
        check(x == y, "P20.present-together", "a snapshot has \(x) and \(y)")
    }

    /// Sets the second property to the value of the first.
    func copyFirst() {
        PropertyList([second]).commit(reading: first) { transaction in
            transaction[second] = transaction[first]
            step("in the body")
        }
    }

    func modifyFirst() {
        first.modify { value in
            step("in the body")
            value += 1
        }
    }

    func setFirst() { first.value = 1 }

    /// Reads the version of the second property. Called after the first one was set to 1.
    func lookAtSecond() { seen = second.version }

    func checkCopy() {
        let (value, version) = second.snapshot()
        check(version == seen || value == 1, "P19.read-held-still") {
            "the first was 1 when the second had version \(seen), and version \(version) of that is \(value)"
        }
    }

    /// Checks at rest the values and the versions, after this number of changes of each property.
    func checkRest(_ firsts: Int, _ seconds: Int? = nil, _ invariant: String = "P2.versions-without-gaps") {
        let (x, y, seconds) = (first.snapshot(), second.snapshot(), seconds ?? firsts)
        let fits = x == (firsts, UInt64(firsts)) && y == (seconds, UInt64(seconds))
        check(fits, invariant, "after \(firsts) and \(seconds) changes: \(x) and \(y)")
    }
}

/// An observer of two properties that always change together, by one each. It does not retain them.
final class GroupObserver: ProgramPart, @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    let backend: LibraryBackend
    private var received: [Change<(Int, Int)>] = []
    private var ends: [ObservationEnd] = []
    private var token: ObservationToken?

    init(_ backend: LibraryBackend) { self.backend = backend }

    func observe(_ group: Group<(Int, Int)>) {
        let token = group.observe(options: .initial) { [self] change in
            checkCallback("an observer of a group")
            step("in the callback")
            check(change.new.0 == change.new.1, "P21.whole", "an observer of a group received \(change.new)")
            check(ends.isEmpty, "P12.end-last", "an observer of a group receives a change after its end")
            received.append(change)
        }
        token.onEnd { [self] in ends.append($0) }
        self.token = token
    }

    /// Checks at rest that the observer has received its initial value, and every later commit
    /// once.
    func checkReceived(_ commits: Int) {
        let initial = received.filter { $0.reason == .initial }.map(\.new.0)
        let values = received.map(\.new.0).sorted()
        check(initial.count == 1 && initial[0] >= 0, "P4.initial-once", "received the initial values \(initial)")
        let expected = Array((initial.first ?? -1)...commits)
        check(values == expected, "P21.once", "after \(commits) commits: received \(values), not \(expected)")
    }

    /// Checks the end of the observation.
    ///
    /// - Parameter isReleased: Whether both threads have released the properties. A shorter
    ///   schedule of the shrinker may leave out a release.
    func checkEnds(isReleased: Bool) {
        check(ends == (isReleased ? [.sourceDeleted] : []), "P12.end-once", "received the ends \(ends)")
    }

    func end() {
        token?.cancel()
        token = nil
    }
}
