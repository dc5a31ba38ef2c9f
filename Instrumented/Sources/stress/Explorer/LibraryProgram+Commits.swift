// SPDX-License-Identifier: Apache-2.0

extension LibraryProgram {
    /// Three threads: two commits whose groups name the properties in different orders, and reads.
    /// (P19)
    static let commitCommitRead = LibraryProgram(
        name: "commit-commit-read",
        summary: "two commits of two properties, whose groups name them in different orders, against reads",
        threads: [["commit X Y"], ["commit Y X"], ["read X, Y, X"]]
    ) { backend in
        let world = CommitWorld(backend)
        return Program.Instance(
            threads: [[{ world.commit(world.group) }], [{ world.commit(world.reversed) }], [{ world.read() }]],
            rest: [{ world.checkRest(2) }]
        )
    }

    /// A commit and the body of a `modify` of one of its members. (P2, P19)
    static let commitModify = LibraryProgram(
        name: "commit-modify",
        summary: "a commit of two properties against a modify of one of them",
        threads: [["commit"], ["modify X"]]
    ) { backend in
        let world = CommitWorld(backend)
        return Program.Instance(
            threads: [[{ world.commit(world.group) }], [{ world.modifyFirst() }]],
            rest: [{ world.checkModified() }]
        )
    }

    /// A commit, and a thread that begins to observe the group. (P4, P21)
    static let commitObserve = LibraryProgram(
        name: "commit-observe",
        summary: "two commits of two properties against an observation of both with the initial value",
        threads: [["commit", "commit"], ["observe"]]
    ) { backend in
        let world = CommitWorld(backend)
        let observer = GroupObserver(backend)
        return Program.Instance(
            threads: [
                [{ world.commit(world.group) }, { world.commit(world.group) }], [{ observer.observe(world.reversed) }],
            ],
            rest: [{ observer.checkRest(2) }]
        )
    }

    /// A commit of properties that another thread releases at the same time. (P12, P21)
    static let commitDeath = LibraryProgram(
        name: "commit-death",
        summary: "a commit of two observed properties against the release of the others' references to them",
        threads: [["commit, release"], ["release"]]
    ) { backend in
        let observer = GroupObserver(backend)
        let (first, second) = (Deferred<CommitWorld?>(), Deferred<CommitWorld?>())
        return Program.Instance(
            setUp: {
                let world = CommitWorld(backend)
                first.fill(world)
                second.fill(world)
                observer.observe(world.group)
            },
            threads: [
                [
                    {
                        first.content!!.commit(first.content!!.group)
                        first.fill(nil)
                    }
                ],
                [{ second.fill(nil) }],
            ],
            rest: [{ observer.checkDeath(1, isReleased: first.content! == nil && second.content! == nil) }]
        )
    }

    /// A commit, and a thread that removes the observers of one of its members. (P8, P21)
    static let commitRemove = LibraryProgram(
        name: "commit-remove",
        summary: "a commit of two observed properties against the removal of the observers of one",
        threads: [["commit"], ["remove X"]]
    ) { backend in
        let world = CommitWorld(backend)
        let observer = GroupObserver(backend)
        return Program.Instance(
            setUp: { observer.observe(world.group) },
            threads: [[{ world.commit(world.group) }], [{ world.first.cancelAllObservations() }]],
            rest: []
        )
    }

    /// A commit replaces two steps of paths. Each step's inline observer changes the object to
    /// which the other step's path leads by then. (P1)
    static let commitRelink = LibraryProgram(
        name: "commit-relink",
        summary: "a commit of two steps of paths, whose observers set what the other path leads to",
        threads: [["commit"]]
    ) { backend in
        let world = RelinkWorld(backend)
        return Program.Instance(setUp: { world.observe() }, threads: [[{ world.commit() }]], rest: [{ world.end() }])
    }
}

/// An observer of two properties that always change together, by one each.
private final class GroupObserver: @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    private let backend: LibraryBackend
    private var received: [Change<(Int, Int)>] = []
    private var ends: [ObservationEnd] = []
    private var token: ObservationToken?

    init(_ backend: LibraryBackend) { self.backend = backend }

    private func check(_ holds: Bool, _ invariant: String, _ message: @autoclosure () -> String) {
        if !holds { backend.scheduler.fail(invariant, message()) }
    }

    func observe(_ group: Group<(Int, Int)>) {
        let token = group.observe(options: .initial) { [self] change in
            check(
                Instrumentation.forbiddenDepth == 0,
                "P5.no-lock-around-user-code",
                "an observer of a group is called under a lock"
            )
            backend.userStep("in the callback")
            check(change.new.0 == change.new.1, "P21.whole", "an observer of a group received \(change.new)")
            check(ends.isEmpty, "P12.end-last", "an observer of a group receives a change after its end")
            received.append(change)
        }
        token.onEnd { [self] in ends.append($0) }
        self.token = token
    }

    private func checkReceived(_ commits: Int) {
        let values = received.map(\.new.0).sorted()
        let first = received.first { $0.reason == .initial }?.new.0 ?? -1
        check(values == Array(first...commits), "P21.once", "after \(commits) commits: received \(values)")
        check(
            received.filter { $0.reason == .initial }.count == 1 && first >= 0,
            "P4.initial-once",
            "received the initial value \(first)"
        )
    }

    func checkRest(_ commits: Int) {
        checkReceived(commits)
        token?.cancel()
        token = nil
    }

    /// - Parameter isReleased: Whether both threads have released the properties: a schedule that
    ///   is shrunk may leave a release out.
    func checkDeath(_ commits: Int, isReleased: Bool) {
        checkReceived(commits)
        if !isReleased { return check(ends.isEmpty, "P12.end-once", "received the ends \(ends) before the end") }
        check(ends == [.sourceDeleted], "P12.end-once", "received the ends \(ends)")
        token = nil
    }
}

/// Two steps of paths, which a commit replaces at once.
private final class RelinkWorld: @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    final class End: ConcurrentObservable { let number = Observed(0) }

    final class Root: ConcurrentObservable {
        let left = Observed(End())
        let right = Observed(End())
    }

    private let backend: LibraryBackend
    private let root = Root()
    private let (left, right) = (End(), End())
    private var received: (left: [Int], right: [Int]) = ([], [])
    private var tokens: [ObservationToken] = []

    init(_ backend: LibraryBackend) { self.backend = backend }

    func observe() {
        root.property(\.left.number).observeValues { [self] in received.left.append($0) }.store(in: &tokens)
        root.property(\.right.number).observeValues { [self] in received.right.append($0) }.store(in: &tokens)
        root.left.observe { [self] _ in
            right.number.value = 1
            check(received.right, "right")
        }.store(in: &tokens)
        root.right.observe { [self] _ in
            left.number.value = 1
            check(received.left, "left")
        }.store(in: &tokens)
    }

    private func check(_ received: [Int], _ path: String) {
        if received.contains(1) { return }
        backend.scheduler.fail(
            "P1.exactly-once",
            "the \(path) path is not linked to its new end when a commit's first observer is called"
        )
    }

    func commit() {
        Group(root.left, root.right).commit { transaction in
            transaction[root.left] = left
            transaction[root.right] = right
        }
    }

    func end() { tokens = [] }
}
