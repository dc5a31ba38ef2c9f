// SPDX-License-Identifier: Apache-2.0

/// Two numbers that a function has read.
struct ReadPair: Equatable, Sendable, CustomStringConvertible {
    let first, second: Int
    init(_ first: Int, _ second: Int) { (self.first, self.second) = (first, second) }
    var isSame: Bool { first == second }
    var description: String { "\(first) and \(second)" }
}

/// A derived value in a program, its sources, its observer, and the checks of its promises. (P2,
/// P22 to P24)
final class DerivedWorld<Value: Sendable & Equatable>: ProgramPart, @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    let backend: LibraryBackend
    let sources: [Observed<Int>]
    private(set) var derived: Derived<Value>?
    private(set) var token: ObservationToken?
    private(set) var received: [Change<Value>] = []
    private var ends: [ObservationEnd] = []
    /// The value's version when the observation began.
    private var firstVersion: UInt64 = 0
    private let isPossible: (Value) -> Bool

    /// Makes the objects of a run.
    ///
    /// - Parameter isPossible: Returns whether a value is the function's result for sources that
    ///   were present together.
    init(
        _ backend: LibraryBackend,
        _ derived: Derived<Value>,
        of sources: [Observed<Int>] = [],
        isPossible: @escaping (Value) -> Bool = { _ in true }
    ) {
        (self.backend, self.sources, self.derived, self.isPossible) = (backend, sources, derived, isPossible)
    }

    func set(_ value: Int, at index: Int = 0) { sources[index].value = value }

    /// Begins the observation.
    func observe() {
        guard let derived else { return }
        let token = derived.observe { [self] change in
            checkCallback("an observer")
            step("in the callback")
            check(isPossible(change.new), "P23.no-mixture", "received \(change.new)")
            received.append(change)
        }
        token.onEnd { [self] end in ends.append(end) }
        self.token = token
        firstVersion = derived.version
    }

    /// Reads the value, and checks it.
    ///
    /// - Parameter isCurrent: Returns whether a value is not older than the one that was present
    ///   before the call.
    @discardableResult
    func read(since isCurrent: (Value) -> Bool = { _ in true }) -> Value? {
        guard let value = derived?.value else { return nil }
        check(isPossible(value), "P23.no-mixture", "read \(value)")
        check(isCurrent(value), "P22.current", "read \(value), which was replaced before the read began")
        return value
    }

    func cancel() { token?.cancel() }

    /// Releases the derived value.
    func drop() { derived = nil }

    /// Checks at rest that the value is the function's result, and that the observer has received
    /// the last version and every earlier one, but no more versions than there were changes.
    func checkRest(_ expected: Value, isObserved: Bool = true, after most: Int = .max) {
        guard let (value, version) = derived?.snapshot() else { return }
        check(value == expected, "P22.current", "at rest the value is \(value), and the sources give \(expected)")
        guard isObserved else { return }
        let changes = received.sorted { $0.version < $1.version }
        let versions = changes.map(\.version)
        func message() -> String {
            "received \(changes) since version \(firstVersion), and \(value) has version \(version)"
        }
        check(versions.last ?? firstVersion == version, "P24.nothing-lost", message())
        check(versions.elementsEqual(firstVersion + 1..<version + 1), "P2.derived-versions", message())
        check(versions.count <= most, "P24.one-per-change", "received the versions \(versions) of \(most) changes")
        check(changes.last?.new ?? value == value, "P24.nothing-lost", message())
        check(changes.allSatisfy { $0.old != $0.new }, "P24.silent-when-equal", message())
        checkChain(changes, "P2.derived-versions")
    }

    /// Checks at rest the number of links of a source.
    func checkLinks(_ expected: Int, _ invariant: String = "P24.links", at index: Int = 0) {
        let links = sources[index].observationCount
        check(links == expected, invariant, "a source has \(links) links, and \(expected) are needed")
    }

    /// Checks at rest that the observation has not ended, and that the observer has received the
    /// last value.
    func checkKept(_ expected: Value) {
        check(ends.isEmpty && token?.isActive == true && received.map(\.new) == [expected], "P11.derived-kept") {
            "received \(received.map(\.new)), and ended \(ends.count) times"
        }
    }

    /// Checks at rest that the observation has ended with the value.
    func checkDeath() {
        check(ends == [.sourceDeleted], "P12.derived-death", "the observation of a dropped value has ended as \(ends)")
    }

    /// Ends the observation, and releases the objects.
    func end() {
        token?.cancel()
        (token, derived) = (nil, nil)
    }
}

extension DerivedWorld<ReadPair> {
    /// Reads the value, and checks that it is not older than the value that the source had before
    /// the read.
    func readAfter() {
        let (before, version) = sources[0].snapshot()
        let value = read()!.first
        // If the version is the same before and after the read, the value was present all the time.
        check(value == before || sources[0].version != version, "P22.current") {
            "read \(value), and the source had \(before) all the time"
        }
    }
}

extension LibraryProgram {
    /// Makes a program with a derived value whose sources have these values at first.
    static func derived<Value: Sendable & Equatable>(
        _ name: String,
        _ summary: String,
        of values: [Int] = [0],
        by derive: @escaping @Sendable ([Observed<Int>]) -> Derived<Value>,
        isPossible: @escaping @Sendable (Value) -> Bool = { _ in true },
        setUp: @escaping @Sendable (DerivedWorld<Value>) -> Void = { $0.observe() },
        _ threads: Operations<DerivedWorld<Value>>...,
        rest: @Sendable (DerivedWorld<Value>) -> Void...
    ) -> LibraryProgram {
        LibraryProgram(
            name,
            summary,
            in: { backend in
                let sources = values.map { Observed($0) }
                return DerivedWorld(backend, derive(sources), of: sources, isPossible: isPossible)
            },
            setUp: setUp,
            threads: threads,
            rest: rest + [{ $0.end() }]
        )
    }
}
