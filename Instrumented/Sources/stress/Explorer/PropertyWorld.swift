// SPDX-License-Identifier: Apache-2.0

/// The state of one run of a program on a property, and the promises that it must keep. (P1 to P4,
/// P12)
final class PropertyWorld<Value: Sendable & Equatable>: ProgramPart, @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    let backend: LibraryBackend
    private(set) var property: Observed<Value>!
    private var observations: [Observation] = []
    /// The closures, each with several references, because a bug may release one too many.
    private var closures: [[Any]] = []
    /// A counter for the operations of the program.
    var count = 0

    /// An observation, and the changes that it has received.
    private final class Observation: @unchecked Sendable {
        let name: String
        var token: ObservationToken?
        /// The version before the call of `observe`. `after` is the version when it has returned.
        var before: UInt64 = 0
        var after: UInt64 = 0
        let options: ObservationOptions
        var received: [Change<Value>] = []
        var ends: [ObservationEnd] = []
        /// Whether it was cancelled while it could receive a change.
        var isCancelled = false

        init(_ name: String, _ options: ObservationOptions) { (self.name, self.options) = (name, options) }
    }

    init(_ backend: LibraryBackend, _ property: Observed<Value>) { (self.backend, self.property) = (backend, property) }

    // MARK: Operations

    func observe(_ name: String, _ options: ObservationOptions = []) {
        let observation = Observation(name, options)
        observations.append(observation)
        observation.before = property.version
        let closure: @Sendable (Change<Value>) -> Void = { [self] change in
            checkCallback(name)
            step("in the callback")
            check(observation.ends.isEmpty, "P12.end-last", "\(name) receives a change after its end")
            observation.received.append(change)
        }
        closures.append([closure, closure, closure])
        let token = property.observe(options: options, closure)
        token.onEnd { observation.ends.append($0) }
        observation.token = token
        observation.after = property.version
    }

    func set(_ value: Value) { property.value = value }

    func cancel(_ name: String) {
        let observation = observations.first { $0.name == name }!
        observation.isCancelled = true
        observation.token?.cancel()
    }

    /// Releases the property.
    func drop() { property = nil }

    /// Reads the value and its version, and checks that they belong together. A value's number must
    /// be its version. (P2)
    func look(_ number: (Value) -> Int, isWhole: (Value) -> Bool) {
        let (value, version) = property.snapshot()
        check(isWhole(value), "P2.whole-value", "\(value) was never set")
        check(number(value) == Int(version), "P2.version-fits", "\(value) is not the value of version \(version)")
    }

    // MARK: At rest

    /// Checks the received changes, and ends everything.
    func end() {
        for observation in observations where !observation.isCancelled { checkReceived(observation) }
        for observation in observations { observation.token?.cancel() }
    }

    /// Checks that every version after the registration was received once, including the initial
    /// one, and that the values are a chain.
    private func checkReceived(_ observation: Observation) {
        let (name, before, after) = (observation.name, observation.before, observation.after)
        let initial = observation.received.filter { $0.reason == .initial }
        let changes = observation.received.filter { $0.reason == .valueChanged }.sorted { $0.version < $1.version }
        let versions = changes.map(\.version)
        var first = versions.first ?? (property?.version ?? after) + 1
        if observation.options.contains(.initial) {
            check(initial.count == 1, "P4.initial-once", "\(name) received \(initial.count) initial values")
            guard let initial = initial.first else { return }
            first = initial.version + 1
            check(
                versions.first ?? first == first && changes.first.map { $0.old == initial.new } ?? true,
                "P4.nothing-between",
                "\(name) received \(changes) after the initial value \(initial)"
            )
        }
        check(first >= before + 1 && first <= after + 1, "P1.every-change-once") {
            "\(name) received \(versions), and registered between versions \(before) and \(after)"
        }
        guard let property else { return }
        let last = property.version
        let expected = first <= last ? Array(first...last) : []
        check(versions == expected, "P1.every-change-once", "\(name) received \(versions), not \(expected)")
        checkChain(changes, "P2.old-is-last-new", name)
        let newest = changes.last?.new ?? property.value
        check(newest == property.value, "P3.converges", "the last change of \(name) is not the property's value")
    }

    /// Checks that nothing is left. Called when everything is at rest after `end()`.
    func checkEnded() {
        for observation in observations {
            checkEnded(observation.token!, observation.name)
            let ends = observation.ends
            check(ends.count == 1, "P12.end-once", "\(observation.name)'s end was delivered \(ends.count) times")
        }
        // Breaks the cycles between closures and observations.
        (observations, closures, property) = ([], [], nil)
    }
}

extension LibraryProgram {
    /// Makes a program with a property that has this value at first.
    static func property<Value: Sendable & Equatable>(
        _ name: String,
        _ summary: String,
        of value: Value,
        setUp: @escaping @Sendable (PropertyWorld<Value>) -> Void = { _ in },
        _ threads: Operations<PropertyWorld<Value>>...,
        rest: @Sendable (PropertyWorld<Value>) -> Void...
    ) -> LibraryProgram {
        LibraryProgram(
            name,
            summary,
            in: { PropertyWorld($0, Observed(value)) },
            setUp: setUp,
            threads: threads,
            rest: rest + [{ $0.end() }, { $0.checkEnded() }]
        )
    }
}

/// A value that a property stores in a box.
final class Boxed: Equatable, Sendable {
    let number: Int
    init(_ number: Int) { self.number = number }
    static func == (left: Boxed, right: Boxed) -> Bool { left.number == right.number }
}

/// A value of six words that belong together. It is too large for the property itself.
struct Sextet: Equatable, Sendable, BitwiseCopyable {
    let first, second, third, fourth, fifth, sixth: Int
    init(_ number: Int) {
        (first, second, third, fourth, fifth, sixth) = (number, number, number, number, number, number)
    }
}

/// A value of two words that belong together.
struct Twins: Equatable, Sendable, BitwiseCopyable {
    let first, second: Int
    init(_ number: Int) { (first, second) = (number, number) }
}
