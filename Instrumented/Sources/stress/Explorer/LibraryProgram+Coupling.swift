// SPDX-License-Identifier: Apache-2.0

/// The changes that a program's only observer has received, in the order of its calls.
private final class ReceivedChanges<Value: Sendable & Equatable>: @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    private let backend: LibraryBackend
    private var isRunning = false
    private(set) var received: [Change<Value>] = []
    var tokens: [ObservationToken] = []

    init(_ backend: LibraryBackend) { self.backend = backend }

    func check(_ holds: Bool, _ invariant: String, _ message: @autoclosure () -> String) {
        if !holds { backend.scheduler.fail(invariant, message()) }
    }

    /// The observer's callback.
    func receive(_ change: Change<Value>, isSerial: Bool = false) {
        if isSerial { check(!isRunning, "P2.one-at-a-time", "two callbacks of a serial observer run at once") }
        isRunning = true
        backend.userStep("in the callback")
        isRunning = false
        received.append(change)
    }

    /// Versions 1, 2, 3, …, each once, in a chain of old and new that ends with `value`.
    func checkChanges(until value: Value, isSerial: Bool = false) {
        let changes = isSerial ? received : received.sorted { $0.version < $1.version }
        let versions = changes.map(\.version)
        check(
            versions == (0..<versions.count).map { UInt64($0) + 1 },
            isSerial ? "P2.ordered" : "P2.path-versions",
            "received the versions \(versions)"
        )
        for (change, next) in zip(changes, changes.dropFirst()) {
            check(change.new == next.old, "P2.old-is-last-new", "old of \(next.version) is not the last new")
        }
        check(changes.last?.new == value, "P3.converges", "the last change received is not the present value")
    }
}

extension LibraryProgram {
    /// A thread that finds another delivering leaves its change, and the other delivers it. (P1,
    /// P2)
    static let serialSetSet = LibraryProgram(
        name: "serial-set-set",
        summary: "two changes of a property with a serial observer",
        threads: [["set 1"], ["set 2"]]
    ) { backend in
        let property = Observed(0)
        let observer = ReceivedChanges<Int>(backend)
        return Program.Instance(
            setUp: {
                observer.tokens = [property.observe(delivery: .serial()) { observer.receive($0, isSerial: true) }]
            },
            threads: [[{ property.value = 1 }], [{ property.value = 2 }]],
            rest: [
                {
                    observer.check(
                        observer.received.count == 2,
                        "P1.ordered-once",
                        "received \(observer.received.count) of 2 changes"
                    )
                    observer.checkChanges(until: property.value, isSerial: true)
                    observer.tokens = []
                }
            ]
        )
    }

    /// Changes that overtake each other on their way. (P3)
    static let bindSetSet = LibraryProgram(
        name: "bind-set-set",
        summary: "two changes of a property that is bound to another",
        threads: [["set 1"], ["set 2"]]
    ) { backend in
        let (source, destination) = (Observed(0), Observed(0))
        let observer = ReceivedChanges<Int>(backend)
        return Program.Instance(
            setUp: { observer.tokens = [source.bind(to: destination)] },
            threads: [[{ source.value = 1 }], [{ source.value = 2 }]],
            rest: [
                {
                    observer.check(
                        destination.value == source.value,
                        "P3.destination-follows",
                        "the destination is \(destination.value), its source \(source.value)"
                    )
                    observer.tokens = []
                }
            ]
        )
    }

    /// Changes that meet. (P3)
    static let bindBothWays = LibraryProgram(
        name: "bind-both-ways",
        summary: "changes of both sides of a two-way binding",
        threads: [["set left"], ["set right"]]
    ) { backend in
        let (left, right) = (Observed(0), Observed(0))
        let observer = ReceivedChanges<Int>(backend)
        return Program.Instance(
            setUp: { observer.tokens = [left.bindBidirectionally(with: right)] },
            threads: [[{ left.value = 1 }], [{ right.value = 2 }]],
            rest: [
                {
                    observer.check(
                        left.value == right.value,
                        "P3.pair-converges",
                        "the left is \(left.value), the right \(right.value)"
                    )
                    observer.tokens = []
                }
            ]
        )
    }

    /// The end of a path changes while the path is relinked. (P2, P3)
    static let pathRelinkSet = path(
        "path-relink-set",
        "a change of the end of a path against the replacement of a step",
        ["lead elsewhere"],
        ["set the end"]
    ) { root, end in
        [[{ root.end.value = PathEnd(2) }], [{ end.number.value = 3 }]]
    }

    /// The path's new end changes before the replacement is delivered. The observer must receive
    /// that change after the replacement. (P2, P3)
    static let serialPathRelinkSet = path(
        "serial-path-relink-set",
        "the replacement of a step of a path with a serial observer against a change of its new end",
        ["lead elsewhere"],
        ["set the new end"],
        isSerial: true
    ) { root, _ in
        let next = PathEnd(2)
        return [[{ root.end.value = next }], [{ next.number.value = 3 }]]
    }

    /// A step is replaced twice at once: the second thread leaves the relink to the first. (P3)
    static let pathRelinkRelink = path(
        "path-relink-relink",
        "two replacements of a step of a path",
        ["lead elsewhere"],
        ["lead elsewhere"]
    ) { root, _ in
        [[{ root.end.value = PathEnd(2) }], [{ root.end.value = PathEnd(3) }]]
    }

    private static func path(
        _ name: String,
        _ summary: String,
        _ first: [StaticString],
        _ second: [StaticString],
        isSerial: Bool = false,
        _ operations: @escaping @Sendable (_ root: PathMiddle, _ end: PathEnd) -> [[() -> Void]]
    ) -> LibraryProgram {
        LibraryProgram(name: name, summary: summary, threads: [first, second]) { backend in
            let end = PathEnd(1)
            let root = PathMiddle(end)
            let observer = ReceivedChanges<UInt64?>(backend)
            return Program.Instance(
                setUp: {
                    observer.tokens = [
                        root.observe(\.end.number, delivery: isSerial ? .serial() : .inline) {
                            observer.receive($0, isSerial: isSerial)
                        }
                    ]
                },
                threads: operations(root, end),
                rest: [
                    {
                        observer.checkChanges(until: root.end.value?.number.value, isSerial: isSerial)
                        observer.tokens = []
                    }
                ]
            )
        }
    }

    /// The root goes while the end changes. (P12)
    static let pathDeathSet = LibraryProgram(
        name: "path-death-set",
        summary: "the death of a path's root against a change of its end",
        threads: [["drop the root"], ["set the end"]]
    ) { backend in
        pathDeath(backend, [])
    }

    /// The root goes while the end changes, with an observer that receives prior deliveries. (P12)
    static let pathDeathAhead = LibraryProgram(
        name: "path-death-ahead",
        summary:
            "the death of a path's root against a change of its end, with an observer that receives prior deliveries",
        threads: [["drop the root"], ["set the end"]]
    ) { backend in
        pathDeath(backend, [.prior])
    }

    private static func pathDeath(_ backend: LibraryBackend, _ options: ObservationOptions) -> Program.Instance {
        let end = PathEnd(1)
        let root = Deferred<PathMiddle?>()
        let observer = ReceivedChanges<UInt64?>(backend)
        let ends = Deferred<Int>()
        let committed = Deferred<UInt64>()
        return Program.Instance(
            setUp: {
                root.fill(PathMiddle(end))
                ends.fill(0)
                let token = root.content!!.observe(\.end.number, options: options) { change in
                    observer.check(
                        ends.content == 0,
                        "P12.path-end-last",
                        "a change is received after the end of the path"
                    )
                    observer.receive(change)
                }
                token.onEnd { _ in ends.fill(ends.content! + 1) }
                observer.tokens = [token]
            },
            threads: [
                [
                    {
                        committed.fill(end.number.version)
                        root.fill(nil)
                    }
                ],
                [{ end.number.value = 3 }],
            ],
            rest: [
                {
                    observer.check(
                        ends.content == 1,
                        "P12.path-end-once",
                        "the end of the path was delivered \(ends.content!) times"
                    )
                    let versions = observer.received.filter { $0.reason == .valueChanged }.map(\.version)
                    observer.check(
                        versions.count >= Int(committed.content!),
                        "P1.received-before-the-end",
                        "received the versions \(versions); \(committed.content!) was committed before the root went"
                    )
                    observer.tokens = []
                }
            ]
        )
    }
}
