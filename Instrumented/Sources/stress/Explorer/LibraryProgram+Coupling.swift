// SPDX-License-Identifier: Apache-2.0

extension LibraryProgram {
    /// Two threads set a property with a serial observer. A thread that finds the other one
    /// delivering leaves its change, and the other one delivers it. (P1, P2)
    static let serialSetSet = LibraryProgram(
        "serial-set-set",
        "two changes of a property with a serial observer",
        in: { (property: Observed(0), observer: ReceivedChanges<Int>($0, isSerial: true)) },
        setUp: { run in
            run.observer.tokens = [run.property.observe(delivery: .serial()) { run.observer.receive($0) }]
        },
        ["set 1": { $0.property.value = 1 }],
        ["set 2": { $0.property.value = 2 }],
        rest: { run in
            let count = run.observer.received.count
            run.observer.check(count == 2, "P1.ordered-once", "received \(count) of 2 changes")
            run.observer.checkChanges(until: run.property.value)
        }
    )

    /// Two threads set a bound property. Their changes may arrive at the binding in the wrong
    /// order. (P3)
    static let bindSetSet = bound(
        "bind-set-set",
        "two changes of a property that is bound to another",
        "P3.destination-follows",
        { $0.bind(to: $1) },
        ["set 1": { $0.left.value = 1 }],
        ["set 2": { $0.left.value = 2 }]
    )

    /// Two threads set both sides of a binding in both directions. Their changes meet. (P3)
    static let bindBothWays = bound(
        "bind-both-ways",
        "changes of both sides of a two-way binding",
        "P3.pair-converges",
        { $0.bindBidirectionally(with: $1) },
        ["set left": { $0.left.value = 1 }],
        ["set right": { $0.right.value = 2 }]
    )

    private static func bound(
        _ name: String,
        _ summary: String,
        _ invariant: String,
        _ bind: @escaping @Sendable (_ left: Observed<Int>, _ right: Observed<Int>) -> ObservationToken,
        _ threads: Operations<BoundRun>...
    ) -> LibraryProgram {
        LibraryProgram(
            name,
            summary,
            in: { (left: Observed(0), right: Observed(0), observer: ReceivedChanges<Int>($0)) },
            setUp: { $0.observer.tokens = [bind($0.left, $0.right)] },
            threads: threads,
            rest: [
                { run in
                    let (left, right) = (run.left.value, run.right.value)
                    run.observer.check(left == right, invariant, "the left is \(left), the right \(right)")
                    run.observer.tokens = []
                }
            ]
        )
    }

    private typealias BoundRun = (left: Observed<Int>, right: Observed<Int>, observer: ReceivedChanges<Int>)

    /// A value that one thread sets goes round a cycle through a path while another thread sets the
    /// same property. (P3)
    static let bindPathCycle = LibraryProgram(
        "bind-path-cycle",
        "two changes of a property that is bound through a path, and bound back",
        in: { CycleRun(PathRun($0, end: 0)) },
        setUp: { $0.bind() },
        ["set 8": { $0.number.value = 8 }],
        ["set 16": { $0.number.value = 16 }],
        rest: { $0.check() }
    )

    /// The end of a path changes while the path is relinked. (P2, P3)
    static let pathRelinkSet = path(
        "path-relink-set",
        "a change of the end of a path against the replacement of a step",
        ["lead elsewhere": { $0.root!.end.value = PathEnd(2) }],
        ["set the end": { $0.end.number.value = 3 }]
    )

    /// The path's new end changes before the replacement is delivered. The observer must receive
    /// that change after the replacement. (P2, P3)
    static let serialPathRelinkSet = path(
        "serial-path-relink-set",
        "the replacement of a step of a path with a serial observer against a change of its new end",
        isSerial: true,
        ["lead elsewhere": { $0.root!.end.value = $0.next }],
        ["set the new end": { $0.next.number.value = 3 }]
    )

    /// Two threads replace a step at the same time. The second one leaves the relinking to the
    /// first. (P3)
    static let pathRelinkRelink = path(
        "path-relink-relink",
        "two replacements of a step of a path",
        ["lead elsewhere": { $0.root!.end.value = PathEnd(2) }],
        ["lead elsewhere": { $0.root!.end.value = PathEnd(3) }]
    )

    private static func path(
        _ name: String,
        _ summary: String,
        isSerial: Bool = false,
        _ threads: Operations<PathRun>...
    ) -> LibraryProgram {
        LibraryProgram(
            name,
            summary,
            in: { PathRun($0, isSerial: isSerial) },
            setUp: { $0.observe() },
            threads: threads,
            rest: [{ $0.observer.checkChanges(until: $0.root!.end.value?.number.value) }]
        )
    }

    /// The root of a path dies while the path's end changes. (P12)
    static let pathDeathSet = pathDeath(
        "path-death-set",
        "the death of a path's root against a change of its end"
    )

    /// The root of a path dies while the path's end changes. The observer receives prior
    /// deliveries. (P12)
    static let pathDeathAhead = pathDeath(
        "path-death-ahead",
        "the death of a path's root against a change of its end, with an observer that receives prior deliveries",
        .prior
    )

    private static func pathDeath(_ name: String, _ summary: String, _ options: ObservationOptions = []) -> Self {
        LibraryProgram(
            name,
            summary,
            in: { PathRun($0) },
            setUp: { $0.observe(options) },
            ["drop the root": { $0.drop() }],
            ["set the end": { $0.end.number.value = 3 }],
            rest: { $0.checkDeath() }
        )
    }
}

/// The changes that the only observer of a program has received, in the order of its calls.
private final class ReceivedChanges<Value: Sendable & Equatable>: ProgramPart, @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    let backend: LibraryBackend
    private let isSerial: Bool
    private var isRunning = false
    private(set) var received: [Change<Value>] = []
    var tokens: [ObservationToken] = []

    init(_ backend: LibraryBackend, isSerial: Bool = false) { (self.backend, self.isSerial) = (backend, isSerial) }

    /// Receives a change, as the observer's callback.
    func receive(_ change: Change<Value>) {
        if isSerial { check(!isRunning, "P2.one-at-a-time", "two callbacks of a serial observer run at once") }
        isRunning = true
        step("in the callback")
        isRunning = false
        received.append(change)
    }

    /// Checks at rest that the versions are 1, 2, 3, …, that each occurs once, and that the values
    /// are a chain that ends with `value`.
    func checkChanges(until value: Value) {
        let changes = isSerial ? received : received.sorted { $0.version < $1.version }
        let versions = changes.map(\.version)
        let fits = versions.elementsEqual(1..<UInt64(versions.count) + 1)
        check(fits, isSerial ? "P2.ordered" : "P2.path-versions", "received the versions \(versions)")
        checkChain(changes, "P2.old-is-last-new")
        check(changes.last?.new == value, "P3.converges", "the last change received is not the present value")
        tokens = []
    }
}

/// A path of one step, and its observer.
private final class PathRun: @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    let observer: ReceivedChanges<UInt64?>
    let end: PathEnd
    let next = PathEnd(2)
    private(set) var root: PathMiddle?
    private let delivery: Delivery
    private var ends = 0
    /// The version of the path's end when the root died.
    private var committed: UInt64 = 0

    init(_ backend: LibraryBackend, end number: UInt64 = 1, isSerial: Bool = false) {
        observer = ReceivedChanges(backend, isSerial: isSerial)
        end = PathEnd(number)
        root = PathMiddle(end)
        delivery = isSerial ? .serial() : .inline
    }

    func observe(_ options: ObservationOptions = []) {
        let token = root!.observe(\.end.number, options: options, delivery: delivery) { [self] change in
            observer.check(ends == 0, "P12.path-end-last", "a change is received after the end of the path")
            observer.receive(change)
        }
        token.onEnd { [self] _ in ends += 1 }
        observer.tokens = [token]
    }

    func drop() {
        committed = end.number.version
        root = nil
    }

    func checkDeath() {
        observer.check(ends == 1, "P12.path-end-once", "the end of the path was delivered \(ends) times")
        let versions = observer.received.filter { $0.reason == .valueChanged }.map(\.version)
        observer.check(versions.count >= Int(committed), "P1.received-before-the-end") {
            "received the versions \(versions); \(committed) was committed before the root went"
        }
        observer.tokens = []
    }
}

/// A cycle of two bindings through a path. Each binding adds one to a number.
private final class CycleRun: @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    let path: PathRun
    private let other = Observed<UInt64>(0)
    private var changes: [Change<UInt64>] = []

    init(_ path: PathRun) { self.path = path }

    var number: Observed<UInt64> { path.end.number }

    func bind() {
        path.observer.tokens = [
            path.root!.property(\.end.number).bind(to: other) { ($0 ?? 0) + 1 },
            other.bind(to: number) { $0 + 1 }, number.observe { [self] change in changes.append(change) },
        ]
        changes = []
    }

    func check() {
        for change in changes where change.new % 8 != 0 {
            let (old, new) = (change.old!, change.new)
            path.observer.check(old == new - 2, "P3.no-echo", "\(new) has come round to \(old), of another thread")
        }
        let (here, far) = (number.value, other.value)
        path.observer.check(here % 8 == 2 && far == here - 1, "P3.destination-follows") {
            "what came round is \(here), what it was made of \(far)"
        }
        path.observer.tokens = []
    }
}
