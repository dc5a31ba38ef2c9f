// SPDX-License-Identifier: Apache-2.0

extension LibraryProgram {
    /// One thread cancels the observations of a member while another thread begins to observe the
    /// group. (P8)
    static let groupCancelAll = joint(
        "group-cancel-all",
        "the beginning of a group's observation against the cancellation of a member's observations",
        ["observe the group": { $0.begin { $0.observeGroup() } }],
        ["cancel all": { $0.cancelAll(of: \.first) }]
    )

    /// One thread cancels the observations of the right side while another thread begins the
    /// binding. (P8)
    static let bindCancelAll = joint(
        "bind-cancel-all",
        "the beginning of a two-way binding against the cancellation of its right side's observations",
        ["bind": { $0.begin { $0.bind() } }],
        ["cancel all": { $0.cancelAll(of: \.second) }]
    )

    /// Two threads cancel the observations of a property. One of them belongs to a group. (P8)
    static let cancelAllTwice = joint(
        "cancel-all-twice",
        "two cancellations of all of a property's observations at once, that of a group among them",
        begin: { $0.begin { $0.observeGroup() } },
        ["cancel all": { $0.cancelAllAndCheck() }],
        ["cancel all": { $0.cancelAllAndCheck() }]
    )

    private static func joint(
        _ name: String,
        _ summary: String,
        begin: @escaping @Sendable (JointObservation) -> Void = { _ in },
        _ threads: Operations<JointObservation>...
    ) -> LibraryProgram {
        LibraryProgram(
            name,
            summary,
            in: { backend in
                let observation = JointObservation(backend)
                begin(observation)
                return observation
            },
            threads: threads,
            rest: [{ $0.token = nil }]
        )
    }

    /// Two commits meet: each sets one side of two pairs. In each pair one side prevails. (P3)
    static let pairCommits = LibraryProgram(
        "pair-commits",
        "a commit of the left sides of two pairs against one of the right sides",
        in: PairWorld.init,
        setUp: { $0.bind() },
        ["commit left": { $0.left.set(1) }],
        ["commit right": { $0.right.set(2) }],
        rest: { $0.checkMet() }
    )

    /// A commit, and the end of a binding that passes one of its changes back. (P9)
    static let pairCancel = LibraryProgram(
        "pair-cancel",
        "a commit of the right sides of two pairs against the end of one binding, with a wait",
        in: PairWorld.init,
        setUp: { $0.bind() },
        ["commit right": { $0.right.set(1) }],
        ["cancel and wait": { $0.cancelAndWait() }, "look twice": { $0.lookTwice() }],
        rest: { $0.checkCancelled() }
    )
}

/// An observation with observers at several properties. It begins while the observations of one of
/// these properties are cancelled.
private final class JointObservation: ProgramPart, @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    let backend: LibraryBackend
    let (first, second) = (Observed(0), Observed(0))
    var token: ObservationToken?
    private var returned = 0
    private var received = 0

    init(_ backend: LibraryBackend) { self.backend = backend }

    func begin(_ begin: (JointObservation) -> ObservationToken) {
        token = begin(self)
        checkWhenBothHaveReturned()
    }

    func observeGroup() -> ObservationToken { Group(first, second).observe { [self] _ in received += 1 } }

    func bind() -> ObservationToken {
        let receive: @Sendable (Int) -> Int = { [self] value in
            received += 1
            return value
        }
        return first.bindBidirectionally(with: second, forward: receive, backward: receive)
    }

    func cancelAll(of property: KeyPath<JointObservation, Observed<Int>>) {
        self[keyPath: property].cancelAllObservations()
        checkWhenBothHaveReturned()
    }

    /// Checks that the observation has begun after the cancellation, or was ended by it, at both
    /// properties. (P8)
    private func checkWhenBothHaveReturned() {
        returned += 1
        guard returned == 2, let token else { return }
        let isActive = token.isActive
        let counts = [first.observationCount, second.observationCount]
        let before = received
        (first.value, second.value) = (1, 2)
        check(counts == (isActive ? [1, 1] : [0, 0]) && received - before == (isActive ? 2 : 0), "P8.begun-or-ended") {
            "active: \(isActive); the properties count \(counts), and \(received - before) of 2 changes were received"
        }
    }

    /// Cancels all observations of one side. When this has returned, the observation has ended,
    /// whatever another thread does. (P8)
    func cancelAllAndCheck() {
        first.cancelAllObservations()
        check(token?.isActive != true, "P8.ended-on-return", "a removal has returned, and the observation is active")
    }
}

/// Two pairs of properties. The left sides change together, and so do the right ones.
private final class PairWorld: ProgramPart, @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    let backend: LibraryBackend
    let left, right: CommitWorld
    private var bindings: [ObservationToken] = []
    /// The version of a left side after its binding has ended.
    private var seen: UInt64 = 0

    init(_ backend: LibraryBackend) {
        self.backend = backend
        (left, right) = (CommitWorld(backend), CommitWorld(backend))
    }

    /// Binds the pairs. There are no other observers, because each one would need many steps.
    func bind() {
        bindings = [
            left.first.bindBidirectionally(with: right.first), left.second.bindBidirectionally(with: right.second),
        ]
    }

    func cancelAndWait() {
        bindings.removeLast().cancelAndWaitBlocking()
        seen = left.second.version
    }

    func lookTwice() {
        _ = backend.step("before the look")
        checkCancelled()
    }

    /// Checks that a binding changes nothing after a thread has waited for its end.
    func checkCancelled() {
        guard bindings.count == 1 else { return }
        let version = left.second.version
        check(version == seen, "P9.nothing-after-wait", "version \(version) came after the end at version \(seen)")
    }

    func checkMet() {
        let (lefts, rights) = ([left.first.value, left.second.value], [right.first.value, right.second.value])
        check(lefts == rights, "P3.pair-converges", "two commits that met have left \(lefts) and \(rights)")
        bindings = []
    }
}
