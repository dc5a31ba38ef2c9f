// SPDX-License-Identifier: Apache-2.0

extension LibraryProgram {
    /// Two commits of properties that are bound to two others, which are observed together. (P21)
    static let carryCarry = LibraryProgram(
        name: "carry-carry",
        summary: "two commits of two properties that are bound to two others, whose observer receives them",
        threads: [["commit X Y"], ["commit Y X"]]
    ) { backend in
        let world = CarryWorld(backend)
        return Program.Instance(
            setUp: { world.bind(bothWays: false) },
            threads: [
                [{ world.sources.commit(world.sources.group) }], [{ world.sources.commit(world.sources.reversed) }],
            ],
            rest: [{ world.checkRest(2) }]
        )
    }

    /// A commit of properties that are bound to two others, and reads of these. (P21)
    static let carryRead = LibraryProgram(
        name: "carry-read",
        summary: "a commit of two properties that are bound to two others, against reads of one, then of the other",
        threads: [["commit"], ["read X, Y, X"]]
    ) { backend in
        let world = CarryWorld(backend)
        return Program.Instance(
            setUp: { world.bind(bothWays: false) },
            threads: [[{ world.sources.commit(world.sources.group) }], [{ world.read() }]],
            rest: [{ world.checkRest(1) }]
        )
    }

    /// Two commits that meet: each of one side of two pairs. One prevails on both. (P3, P21)
    static let carryBothWays = LibraryProgram(
        name: "carry-both-ways",
        summary: "a commit of the left sides of two pairs against one of the right sides",
        threads: [["commit left"], ["commit right"]]
    ) { backend in
        let world = CarryWorld(backend)
        return Program.Instance(
            setUp: { world.bind(bothWays: true) },
            threads: [[{ world.set(world.sources, 1) }], [{ world.set(world.destinations, 2) }]],
            rest: [{ world.checkMet() }]
        )
    }

    /// A commit, and the end of a binding that would carry it. (P9)
    static let carryCancel = LibraryProgram(
        name: "carry-cancel",
        summary: "a commit of the left sides of two pairs against the end of one binding, with a wait",
        threads: [["commit"], ["cancel and wait", "look twice"]]
    ) { backend in
        let world = CarryWorld(backend)
        return Program.Instance(
            setUp: { world.bindUnobserved() },
            threads: [[{ world.set(world.sources, 1) }], [{ world.cancelAndWait() }, { world.lookTwice() }]],
            rest: [{ world.checkCancelled() }]
        )
    }
}

/// Two properties that change together, and two that they are bound to.
private final class CarryWorld: @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    private let backend: LibraryBackend
    let sources: CommitWorld
    let destinations: CommitWorld
    private var bindings: [ObservationToken] = []
    private var observer: ObservationToken?
    /// The version of a destination when nothing is bound to it any more.
    private var seen: UInt64 = 0

    init(_ backend: LibraryBackend) {
        self.backend = backend
        (sources, destinations) = (CommitWorld(backend), CommitWorld(backend))
    }

    private func check(_ holds: Bool, _ invariant: String, _ message: @autoclosure () -> String) {
        if !holds { backend.scheduler.fail(invariant, message()) }
    }

    /// Two pairs that no other observer receives: an observer has many steps.
    func bindUnobserved() {
        bindings = [
            sources.first.bindBidirectionally(with: destinations.first),
            sources.second.bindBidirectionally(with: destinations.second),
        ]
    }

    func bind(bothWays: Bool) {
        if bothWays {
            bindUnobserved()
        } else {
            bindings = [
                sources.first.bind(to: destinations.first),
                sources.second.bind(to: destinations.second) { [backend] value in
                    backend.userStep("in the transform")
                    return value
                },
            ]
        }
        observer = destinations.group.observe { [self] change in
            backend.userStep("in the callback")
            check(
                change.new.0 == change.new.1 || bindings.count < 2,
                "P21.carried-whole",
                "an observer of two destinations received \(change.new)"
            )
        }
    }

    func set(_ world: CommitWorld, _ value: Int) {
        world.group.commit { transaction in
            transaction[world.first] = value
            transaction[world.second] = value
        }
    }

    /// The first destination was changed with the second.
    func read() {
        let x = destinations.first.value
        let y = destinations.second.value
        check(y >= x, "P21.carried-whole", "one destination was \(x), then the other \(y)")
    }

    func cancelAndWait() {
        bindings.removeLast().cancelAndWaitBlocking()
        seen = destinations.second.version
    }

    func lookTwice() {
        _ = backend.step("before the look")
        checkCancelled()
    }

    /// Nothing is carried through a binding whose end was waited for.
    func checkCancelled() {
        guard bindings.count == 1 else { return }
        check(
            destinations.second.version == seen,
            "P9.nothing-after-wait",
            "a binding has made version \(destinations.second.version) after its end at version \(seen)"
        )
    }

    func checkMet() {
        let all = [sources.first, sources.second, destinations.first, destinations.second].map(\.value)
        check(Set(all).count == 1, "P21.carried-whole", "two commits that met have left \(all)")
        end()
    }

    func checkRest(_ commits: Int) {
        sources.checkRest(commits)
        check(
            destinations.first.value == commits && destinations.second.value == commits,
            "P3.destination-follows",
            "after \(commits) commits: \(destinations.first.snapshot()) and \(destinations.second.snapshot())"
        )
        end()
    }

    private func end() {
        bindings = []
        observer = nil
    }
}
