// SPDX-License-Identifier: Apache-2.0

extension LibraryProgram {
    /// Two commits that meet: each of one side of two pairs. One side prevails in each pair. (P3)
    static let pairCommits = LibraryProgram(
        name: "pair-commits",
        summary: "a commit of the left sides of two pairs against one of the right sides",
        threads: [["commit left"], ["commit right"]]
    ) { backend in
        let world = PairWorld(backend)
        return Program.Instance(
            setUp: { world.bind() },
            threads: [[{ world.set(world.left, 1) }], [{ world.set(world.right, 2) }]],
            rest: [{ world.checkMet() }]
        )
    }

    /// A commit, and the end of a binding that passes one of its changes back. (P9)
    static let pairCancel = LibraryProgram(
        name: "pair-cancel",
        summary: "a commit of the right sides of two pairs against the end of one binding, with a wait",
        threads: [["commit right"], ["cancel and wait", "look twice"]]
    ) { backend in
        let world = PairWorld(backend)
        return Program.Instance(
            setUp: { world.bind() },
            threads: [[{ world.set(world.right, 1) }], [{ world.cancelAndWait() }, { world.lookTwice() }]],
            rest: [{ world.checkCancelled() }]
        )
    }
}

/// Two properties that change together, and their partners.
private final class PairWorld: @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    private let backend: LibraryBackend
    let left: CommitWorld
    let right: CommitWorld
    private var bindings: [ObservationToken] = []
    /// The version of a left side when it is not bound any more.
    private var seen: UInt64 = 0

    init(_ backend: LibraryBackend) {
        self.backend = backend
        (left, right) = (CommitWorld(backend), CommitWorld(backend))
    }

    private func check(_ holds: Bool, _ invariant: String, _ message: @autoclosure () -> String) {
        if !holds { backend.scheduler.fail(invariant, message()) }
    }

    /// Binds the pairs. No other observer receives them: an observer has many steps.
    func bind() {
        bindings = [
            left.first.bindBidirectionally(with: right.first),
            left.second.bindBidirectionally(with: right.second),
        ]
    }

    func set(_ world: CommitWorld, _ value: Int) {
        world.group.commit { transaction in
            transaction[world.first] = value
            transaction[world.second] = value
        }
    }

    func cancelAndWait() {
        bindings.removeLast().cancelAndWaitBlocking()
        seen = left.second.version
    }

    func lookTwice() {
        _ = backend.step("before the look")
        checkCancelled()
    }

    /// A binding whose end was waited for changes nothing.
    func checkCancelled() {
        guard bindings.count == 1 else { return }
        check(
            left.second.version == seen,
            "P9.nothing-after-wait",
            "a binding has made version \(left.second.version) after its end at version \(seen)"
        )
    }

    func checkMet() {
        check(
            left.first.value == right.first.value && left.second.value == right.second.value,
            "P3.pair-converges",
            "two commits that met have left \(left.group.value) and \(right.group.value)"
        )
        bindings = []
    }
}
