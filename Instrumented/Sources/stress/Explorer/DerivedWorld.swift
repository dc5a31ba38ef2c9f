// SPDX-License-Identifier: Apache-2.0

/// Two numbers that a function has read.
struct ReadPair: Equatable, Sendable, CustomStringConvertible {
    let first, second: Int
    var description: String { "\(first) and \(second)" }
}

/// A derived value in a program, its observer, and what both must keep. (P2, P22 to P24)
final class DerivedWorld<Value: Sendable & Equatable>: @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    let backend: LibraryBackend
    private(set) var derived: Derived<Value>?
    private(set) var token: ObservationToken?
    private(set) var received: [Change<Value>] = []
    private(set) var ends: [ObservationEnd] = []
    /// The value's version when the observation began.
    private var firstVersion: UInt64 = 0
    private let isPossible: (Value) -> Bool

    /// - Parameter isPossible: Whether the function gives the value for sources that were present
    ///   together.
    init(_ backend: LibraryBackend, _ derived: Derived<Value>, isPossible: @escaping (Value) -> Bool = { _ in true }) {
        self.backend = backend
        self.derived = derived
        self.isPossible = isPossible
    }

    func check(_ holds: Bool, _ invariant: String, _ message: @autoclosure () -> String) {
        if !holds { backend.scheduler.fail(invariant, message()) }
    }

    /// Begins the observation.
    func observe() {
        guard let derived else { return }
        let token = derived.observe { [self] change in
            check(
                Instrumentation.forbiddenDepth == 0,
                "P5.no-lock-around-user-code",
                "an observer is called under a lock or in a read section"
            )
            backend.userStep("in the callback")
            check(isPossible(change.new), "P23.no-mixture", "received \(change.new)")
            received.append(change)
        }
        token.onEnd { [self] end in ends.append(end) }
        self.token = token
        firstVersion = derived.version
    }

    /// Reads, and expects nothing older than what was present before.
    @discardableResult
    func read(since isCurrent: (Value) -> Bool = { _ in true }) -> Value? {
        guard let value = derived?.value else { return nil }
        check(isPossible(value), "P23.no-mixture", "read \(value)")
        check(isCurrent(value), "P22.current", "read \(value), which was replaced before the read began")
        return value
    }

    func cancel() {
        token?.cancel()
    }

    /// Releases the derived value.
    func drop() {
        derived = nil
    }

    /// At rest: the value is the function's, and the observer has received the last version, and
    /// each before it. No more than there were changes.
    func checkRest(_ expected: Value, isObserved: Bool = true, after most: Int = .max) {
        guard let (value, version) = derived?.snapshot() else { return }
        check(value == expected, "P22.current", "at rest the value is \(value), and the sources give \(expected)")
        guard isObserved else { return }
        let changes = received.sorted { $0.version < $1.version }
        let versions = changes.map(\.version)
        check(
            versions.last ?? firstVersion == version,
            "P24.nothing-lost",
            "received the versions \(versions), and the value has version \(version)"
        )
        check(
            versions == (0..<version - firstVersion).map { firstVersion + 1 + $0 },
            "P2.derived-versions",
            "received the versions \(versions) since \(firstVersion)"
        )
        check(versions.count <= most, "P24.one-per-change", "received the versions \(versions) of \(most) changes")
        check(changes.last?.new ?? value == value, "P24.nothing-lost", "received \(changes.last!.new), not \(value)")
        for change in changes {
            check(change.old != change.new, "P24.silent-when-equal", "version \(change.version) changes nothing")
        }
        for (change, next) in zip(changes, changes.dropFirst()) {
            check(change.new == next.old, "P2.derived-versions", "old of \(next.version) is not the last new")
        }
    }

    /// At rest: how many links a source has.
    func checkLinks(_ source: Observed<Int>, _ expected: Int, _ invariant: String = "P24.links") {
        let links = source.observationCount
        check(links == expected, invariant, "a source has \(links) links, and \(expected) are needed")
    }

    /// After the last `cancel()` has returned: the source has no link any more.
    func checkLinksNow(_ source: Observed<Int>) {
        check(source.observationCount == 0, "P24.links-end", "a source still has a link when cancel() has returned")
    }

    /// At rest: the observation goes on, and has received the last value.
    func checkKept(_ expected: Value) {
        check(
            ends.isEmpty && token?.isActive == true && received.map(\.new) == [expected],
            "P11.derived-kept",
            "received \(received.map(\.new)), and ended \(ends.count) times"
        )
    }

    /// At rest: the observation has ended with the value.
    func checkDeath() {
        check(
            ends == [.sourceDeleted],
            "P12.derived-death",
            "the observation of a dropped value has ended \(ends.count) times"
        )
    }

    /// Ends what is left.
    func end() {
        token?.cancel()
        (token, derived) = (nil, nil)
    }
}
