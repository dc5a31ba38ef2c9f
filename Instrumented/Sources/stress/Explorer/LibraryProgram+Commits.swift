// SPDX-License-Identifier: Apache-2.0

extension LibraryProgram {
    /// Two commits of the same properties, which the groups name in different orders. (P19)
    static let commitCommit = commits(
        "commit-commit",
        "two commits of two properties, whose groups name them in different orders",
        ["commit X Y": { $0.commit() }],
        ["commit Y X": { $0.commit(reversed: true) }],
        rest: { $0.checkRest(2) }
    )

    /// Two such commits, and a thread that reads. (P19)
    static let commitCommitRead = commits(
        "commit-commit-read",
        "two commits of two properties, whose groups name them in different orders, against reads",
        ["commit X Y": { $0.commit() }],
        ["commit Y X": { $0.commit(reversed: true) }],
        ["read X, Y, X": { $0.read() }],
        rest: { $0.checkRest(2) }
    )

    /// A commit, and a thread that reads one property and then the other. (P19)
    static let commitRead = commits(
        "commit-read",
        "two commits of two properties against reads of one, then of the other",
        ["commit": { $0.commit() }, "commit": { $0.commit() }],
        ["read X, Y, X": { $0.read() }],
        rest: { $0.checkRest(2) }
    )

    /// Two commits, and a thread that takes a snapshot. (P20)
    static let commitSnapshot = commits(
        "commit-snapshot",
        "two commits of two properties against a snapshot",
        ["commit": { $0.commit() }, "commit": { $0.commit() }],
        ["snapshot": { $0.takeSnapshot() }],
        rest: { $0.checkRest(2) }
    )

    /// A commit that reads one property and changes the other, and a set of the first. (P19)
    static let commitReading = commits(
        "commit-reading",
        "a commit that sets one property to what it reads of another, against a set of that",
        ["commit Y reading X": { $0.copyFirst() }],
        ["set X": { $0.setFirst() }, "look at Y": { $0.lookAtSecond() }],
        rest: { $0.checkCopy() }
    )

    /// A commit and the body of a `modify` of one of its members. (P2, P19)
    static let commitModify = commits(
        "commit-modify",
        "a commit of two properties against a modify of one of them",
        ["commit": { $0.commit() }],
        ["modify X": { $0.modifyFirst() }],
        rest: { $0.checkRest(2, 1, "P2.no-lost-update") }
    )

    private static func commits(
        _ name: String,
        _ summary: String,
        _ threads: Operations<CommitWorld>...,
        rest: @escaping @Sendable (CommitWorld) -> Void
    ) -> LibraryProgram {
        LibraryProgram(name, summary, in: CommitWorld.init, threads: threads, rest: [rest])
    }

    /// A commit, and a thread that begins to observe the group. (P4, P21)
    static let commitObserve = LibraryProgram(
        "commit-observe",
        "two commits of two properties against an observation of both with the initial value",
        in: { (world: CommitWorld($0), observer: GroupObserver($0)) },
        ["commit": { $0.world.commit() }, "commit": { $0.world.commit() }],
        ["observe": { $0.observer.observe($0.world.reversed) }],
        rest: { $0.observer.checkReceived(2) },
        { $0.observer.end() }
    )

    /// A commit, and a thread that removes the observers of one of its members. (P8, P21)
    static let commitRemove = LibraryProgram(
        "commit-remove",
        "a commit of two observed properties against the removal of the observers of one",
        in: { (world: CommitWorld($0), observer: GroupObserver($0)) },
        setUp: { $0.observer.observe($0.world.group) },
        ["commit": { $0.world.commit() }],
        ["remove X": { $0.world.first.cancelAllObservations() }]
    )

    /// A commit of properties that another thread releases at the same time. (P12, P21)
    static let commitDeath = LibraryProgram(
        "commit-death",
        "a commit of two observed properties against the release of the others' references to them",
        in: { (observer: GroupObserver($0), first: Shared<CommitWorld?>(nil), second: Shared<CommitWorld?>(nil)) },
        setUp: { run in
            let world = CommitWorld(run.observer.backend)
            (run.first.content, run.second.content) = (world, world)
            run.observer.observe(world.group)
        },
        [
            "commit, release": { run in
                run.first.content!.commit()
                run.first.content = nil
            }
        ],
        ["release": { $0.second.content = nil }],
        rest: { run in
            run.observer.checkReceived(1)
            run.observer.checkEnds(isReleased: run.first.content == nil && run.second.content == nil)
        }
    )

    /// A commit replaces two steps of paths. Each step has an inline observer that changes the
    /// object to which the path through the other step leads then. (P1)
    static let commitRelink = LibraryProgram(
        "commit-relink",
        "a commit of two steps of paths, whose observers set what the other path leads to",
        in: RelinkWorld.init,
        setUp: { $0.observe() },
        ["commit": { $0.commit() }],
        rest: { $0.tokens = [] }
    )
}

/// Two steps of paths, which a commit replaces together.
private final class RelinkWorld: ProgramPart, @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    final class Root: ConcurrentObservable {
        let left = Observed(PathEnd(0))
        let right = Observed(PathEnd(0))
    }

    let backend: LibraryBackend
    private let root = Root()
    private let (left, right) = (PathEnd(0), PathEnd(0))
    private var received: (left: [UInt64], right: [UInt64]) = ([], [])
    var tokens: [ObservationToken] = []

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

    private func check(_ received: [UInt64], _ path: String) {
        let message = "the \(path) path is not linked to its new end when a commit's first observer is called"
        check(received.contains(1), "P1.exactly-once", message)
    }

    func commit() {
        Group(root.left, root.right).commit { transaction in
            transaction[root.left] = left
            transaction[root.right] = right
        }
    }
}
