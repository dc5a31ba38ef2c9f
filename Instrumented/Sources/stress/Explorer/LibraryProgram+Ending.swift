// SPDX-License-Identifier: Apache-2.0

/// One observation that has observers at several properties, and begins while those at one of them
/// are cancelled.
private final class JointObservation: @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    private let backend: LibraryBackend
    private let properties = (Observed(0), Observed(0))
    private var token: ObservationToken?
    private var returned = 0
    private var received = 0

    init(_ backend: LibraryBackend) { self.backend = backend }

    /// - Parameter begin: Begins the observation. It receives what to do with each change of either
    ///   property.
    func begin(
        _ begin: (_ first: Observed<Int>, _ second: Observed<Int>, _ receive: @escaping @Sendable () -> Void) ->
            ObservationToken
    ) {
        token = begin(properties.0, properties.1) { self.received += 1 }
        checkWhenBothHaveReturned()
    }

    func cancelAllOfFirst() {
        properties.0.cancelAllObservations()
        checkWhenBothHaveReturned()
    }

    func cancelAllOfSecond() {
        properties.1.cancelAllObservations()
        checkWhenBothHaveReturned()
    }

    /// The observation begins after the cancellation, or has been ended by it: at both properties.
    /// (P8)
    private func checkWhenBothHaveReturned() {
        returned += 1
        guard returned == 2, let token else { return }
        let isActive = token.isActive
        let counts = [properties.0.observationCount, properties.1.observationCount]
        let before = received
        properties.0.value = 1
        properties.1.value = 2
        if counts != (isActive ? [1, 1] : [0, 0]) || received - before != (isActive ? 2 : 0) {
            backend.scheduler.fail(
                "P8.begun-or-ended",
                "active: \(isActive); the properties count \(counts), and \(received - before) of 2 changes were received"
            )
        }
    }

    /// Cancels all of one side's. When that has returned, the observation has ended, whatever
    /// another thread does. (P8)
    func cancelAllAndCheck() {
        properties.0.cancelAllObservations()
        guard let token, token.isActive else { return }
        backend.scheduler.fail("P8.ended-on-return", "a removal has returned, and the observation is active")
    }

    func end() { token = nil }
}

extension LibraryProgram {
    /// A member's observations are cancelled while the group's begins. (P8)
    static let groupCancelAll = joint(
        "group-cancel-all",
        "the beginning of a group's observation against the cancellation of a member's observations",
        ["observe the group"]
    ) { first, second, receive in
        Group(first, second).observe { _ in receive() }
    } cancel: {
        $0.cancelAllOfFirst()
    }

    /// The observations of the right side are cancelled while the binding begins. (P8)
    static let bindCancelAll = joint(
        "bind-cancel-all",
        "the beginning of a two-way binding against the cancellation of its right side's observations",
        ["bind"]
    ) { left, right, receive in
        left.bindBidirectionally(
            with: right,
            forward: { value in
                receive()
                return value
            },
            backward: { value in
                receive()
                return value
            }
        )
    } cancel: {
        $0.cancelAllOfSecond()
    }

    /// Two threads cancel a property's observations, a group's among them. (P8)
    static let cancelAllTwice = LibraryProgram(
        name: "cancel-all-twice",
        summary: "two cancellations of all of a property's observations at once, that of a group among them",
        threads: [["cancel all"], ["cancel all"]]
    ) { backend in
        let observation = JointObservation(backend)
        observation.begin { first, second, receive in Group(first, second).observe { _ in receive() } }
        return Program.Instance(
            threads: [[{ observation.cancelAllAndCheck() }], [{ observation.cancelAllAndCheck() }]],
            rest: [{ observation.end() }]
        )
    }

    private static func joint(
        _ name: String,
        _ summary: String,
        _ operation: [StaticString],
        begin: @escaping @Sendable (Observed<Int>, Observed<Int>, @escaping @Sendable () -> Void) -> ObservationToken,
        cancel: @escaping @Sendable (JointObservation) -> Void
    ) -> LibraryProgram {
        LibraryProgram(name: name, summary: summary, threads: [operation, ["cancel all"]]) { backend in
            let observation = JointObservation(backend)
            return Program.Instance(
                threads: [[{ observation.begin(begin) }], [{ cancel(observation) }]],
                rest: [{ observation.end() }]
            )
        }
    }
}
