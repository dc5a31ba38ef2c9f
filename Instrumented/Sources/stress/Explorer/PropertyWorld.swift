// SPDX-License-Identifier: Apache-2.0

/// The state of one run of a program on a property, and the promises that it must keep. (P1 to P4,
/// P12)
final class PropertyWorld<Value: Sendable & Equatable>: @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    private let backend: LibraryBackend
    private(set) var property: Observed<Value>?
    private var observations: [Observation] = []
    /// Closures, several references to each: a bug may release one too many.
    private var closures: [[Any]] = []

    /// An observation and what it has received.
    final class Observation: @unchecked Sendable {
        let name: String
        fileprivate(set) var token: ObservationToken?
        /// The version before `observe` and after it returned.
        fileprivate var before: UInt64 = 0
        fileprivate var after: UInt64 = 0
        fileprivate let options: ObservationOptions
        fileprivate var received: [Change<Value>] = []
        fileprivate var ends: [ObservationEnd] = []
        /// Whether it is cancelled while it could receive a change.
        fileprivate var isCancelled = false

        fileprivate init(_ name: String, _ options: ObservationOptions) { (self.name, self.options) = (name, options) }
    }

    init(_ backend: LibraryBackend, _ property: Observed<Value>) {
        self.backend = backend
        self.property = property
    }

    func check(_ holds: Bool, _ invariant: String, _ message: @autoclosure () -> String) {
        if !holds { backend.scheduler.fail(invariant, message()) }
    }

    /// A step of user code.
    func step(_ name: StaticString) { backend.userStep(name) }

    // MARK: Operations

    @discardableResult
    func observe(_ name: String, _ options: ObservationOptions = []) -> Observation {
        let observation = Observation(name, options)
        guard let property else { return observation }
        observations.append(observation)
        observation.before = property.version
        let closure: @Sendable (Change<Value>) -> Void = { [self] change in
            check(
                Instrumentation.forbiddenDepth == 0,
                "P5.no-lock-around-user-code",
                "\(name) is called under a lock or in a read section"
            )
            step("in the callback")
            check(observation.ends.isEmpty, "P12.end-last", "\(name) receives a change after its end")
            observation.received.append(change)
        }
        closures.append([closure, closure, closure])
        let token = property.observe(options: options, closure)
        token.onEnd { observation.ends.append($0) }
        observation.token = token
        observation.after = property.version
        return observation
    }

    func set(_ value: Value) { change { $0.value = value } }

    /// Changes the property.
    func change(_ body: (Observed<Value>) -> Void) {
        if let property { body(property) }
    }

    func cancel(_ observation: Observation) {
        observation.isCancelled = true
        observation.token?.cancel()
    }

    /// Releases the property.
    func drop() { property = nil }

    // MARK: At rest

    /// Checks what was received and ends everything. When that has come to rest, it checks that
    /// nothing is left.
    var rest: [() -> Void] { [end, checkEnded] }

    private func end() {
        for observation in observations where !observation.isCancelled { checkReceived(observation) }
        for observation in observations { observation.token?.cancel() }
    }

    /// Every version after the registration's, once, the initial one included, in a chain of old
    /// and new.
    private func checkReceived(_ observation: Observation) {
        let name = observation.name
        let initial = observation.received.filter { $0.reason == .initial }
        let changes = observation.received.filter { $0.reason == .valueChanged }.sorted { $0.version < $1.version }
        let versions = changes.map(\.version)
        var first = versions.first ?? (property?.version ?? observation.after) + 1
        if observation.options.contains(.initial) {
            check(initial.count == 1, "P4.initial-once", "\(name) received \(initial.count) initial values")
            guard let initial = initial.first else { return }
            first = initial.version + 1
            check(
                versions.first.map { $0 == first } ?? true,
                "P4.nothing-between",
                "\(name) received \(versions) after the initial value of version \(initial.version)"
            )
            check(
                changes.first.map { $0.old == initial.new } ?? true,
                "P4.nothing-between",
                "\(name)'s first change does not begin at the initial value"
            )
        }
        check(
            first >= observation.before + 1 && first <= observation.after + 1,
            "P1.every-change-once",
            "\(name) received \(versions), and registered between versions \(observation.before) and \(observation.after)"
        )
        guard let property else { return }
        let last = property.version
        let expected = first <= last ? Array(first...last) : []
        check(versions == expected, "P1.every-change-once", "\(name) received \(versions), not \(expected)")
        for (change, next) in zip(changes, changes.dropFirst()) {
            check(change.new == next.old, "P2.old-is-last-new", "\(name): old of \(next.version) is not the last new")
        }
        check(
            changes.last.map { $0.new == property.value } ?? true,
            "P3.converges",
            "the last change that \(name) received is not the property's value"
        )
    }

    private func checkEnded() {
        for observation in observations {
            guard let token = observation.token else { continue }
            let name = observation.name
            let destructions = backend.destructions(of: token)
            check(
                destructions == 1,
                "P14.destroyed-once",
                "\(name)'s closure was destroyed \(destructions) times at the end"
            )
            check(
                observation.ends.count == 1,
                "P12.end-once",
                "\(name)'s end was delivered \(observation.ends.count) times"
            )
            check(!token.isActive, "P12.inactive", "\(name)'s token is active at the end")
        }
        // Breaks the cycles between closures and observations.
        observations = []
        closures = []
        property = nil
    }
}

/// A value that a property keeps in a box.
final class Boxed: Equatable, Sendable {
    let number: Int
    init(_ number: Int) { self.number = number }
    static func == (left: Boxed, right: Boxed) -> Bool { left.number == right.number }
}

/// A value of six words, which belong together: too large for the property itself.
struct Sextet: Equatable, Sendable, BitwiseCopyable {
    let first: Int
    let second: Int
    let third: Int
    let fourth: Int
    let fifth: Int
    let sixth: Int
    init(_ number: Int) {
        (first, second, third, fourth, fifth, sixth) = (number, number, number, number, number, number)
    }
}

/// A value of two words, which belong together.
struct Twins: Equatable, Sendable, BitwiseCopyable {
    let first: Int
    let second: Int
    init(_ number: Int) { (first, second) = (number, number) }
}
