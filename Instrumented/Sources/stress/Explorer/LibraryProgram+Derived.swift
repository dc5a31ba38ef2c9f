// SPDX-License-Identifier: Apache-2.0

extension LibraryProgram {
    /// A diamond is read while its source changes. (P22, P23)
    static let deriveReadSet = derived(
        "derive-read-set",
        "two changes of a diamond's source against two reads of its join",
        by: diamond,
        isPossible: isOfDiamond,
        setUp: { $0.read() },
        ["set 1": { $0.set(1) }, "set 2": { $0.set(2) }],
        ["read": { $0.readAfter() }, "read": { $0.readAfter() }],
        rest: { $0.checkRest(ReadPair(2, ~2), isObserved: false) }
    )

    /// Two threads read a diamond. One of them has changed its source before. (P22, P23)
    static let deriveReadRead = derived(
        "derive-read-read",
        "a change of a diamond's source and a read of its join against another read",
        by: diamond,
        isPossible: isOfDiamond,
        setUp: { $0.read() },
        ["set 1": { $0.set(1) }, "read": { $0.readAfter() }],
        ["read": { $0.readAfter() }],
        rest: { $0.checkRest(ReadPair(1, ~1), isObserved: false) }
    )

    /// A diamond is observed while two threads change its source, and one of them reads it. (P23,
    /// P24)
    static let deriveObserveSet = derived(
        "derive-observe-set",
        "changes of an observed diamond's source on two threads, one of which then reads the join",
        by: diamond,
        isPossible: isOfDiamond,
        ["set 1": { $0.set(1) }],
        ["set 2": { $0.set(2) }, "read": { $0.readAfter() }],
        rest: { world in
            let value = world.sources[0].value
            world.checkRest(ReadPair(value, ~value), after: 2)
            world.checkLinks(1)
        }
    )

    /// A derived value with two ways to one source: it has a number and its complement.
    private static let diamond: @Sendable ([Observed<Int>]) -> Derived<ReadPair> = { sources in
        let (left, right) = (sources[0].map { $0 }, sources[0].map { ~$0 })
        return Derived { get in ReadPair(get(left), get(right)) }
    }

    private static let isOfDiamond: @Sendable (ReadPair) -> Bool = { $0.second == ~$0.first }

    /// Two sources of one observed function change at once. (P2, P24)
    static let deriveSetSet = derived(
        "derive-set-set",
        "a change of each of two sources of an observed derived value",
        of: [0, 0],
        by: { sources in Derived { get in ReadPair(get(sources[0]), get(sources[1])) } },
        ["set X": { $0.set(1, at: 0) }],
        ["set Y": { $0.set(1, at: 1) }],
        rest: { $0.checkRest(ReadPair(1, 1), after: 2) }
    )

    /// A source decides which of two others is read, while all of them change. (P24)
    static let deriveShapeSet = derived(
        "derive-shape-set",
        "a derived value comes to read another source while that changes",
        of: [1, 10, 20],
        by: { sources in Derived { get in get(sources[get(sources[0])]) } },
        ["choose Y": { $0.set(2, at: 0) }],
        ["set Y": { $0.set(21, at: 2) }],
        rest: { world in
            world.checkRest(21)
            for (index, links) in [1, 0, 1].enumerated() { world.checkLinks(links, at: index) }
        }
    )

    /// The observation of the last observer ends, and another one begins, while the source changes.
    /// (P24)
    static let deriveCancelSet = derived(
        "derive-cancel-set",
        "the end of the last observation of a derived value against a change, and a read after it",
        by: { sources in Derived { get in get(sources[0]) } },
        [
            "cancel": { world in
                world.cancel()
                world.checkLinks(0, "P24.links-end")
            }
        ],
        ["set 1": { $0.set(1) }, "read": { $0.read { $0 == 1 } }],
        rest: { world in
            world.checkRest(1, isObserved: false)
            world.check(world.received.count <= 1, "P1.every-change-once", "one change was received twice")
            world.checkLinks(0, "P24.links-end")
        }
    )

    /// The program releases its last reference to an observed derived value while a source changes.
    /// (P11)
    static let deriveKeepSet = derived(
        "derive-keep-set",
        "a derived value that only its observation keeps from now on against a change of its source",
        by: { sources in sources[0].map { $0 } },
        ["drop": { $0.drop() }],
        ["set 1": { $0.set(1) }],
        rest: { world in
            world.checkKept(1)
            world.checkLinks(1)
            world.cancel()
            world.checkLinks(0, "P24.links-end")
        }
    )

    /// The last reference to a model's observed derived value is released while a source changes.
    /// (P12)
    static let deriveDeathSet = derived(
        "derive-death-set",
        "the death of a model's observed derived value against a change of its source",
        by: { sources in Derived { get in get(sources[0]) }.asModels },
        ["drop": { $0.drop() }],
        ["set 1": { $0.set(1) }],
        rest: { world in
            world.checkDeath()
            world.checkLinks(0, "P24.links-end")
        }
    )

    /// A source dies that the function has read through a weak property. (P12, P24)
    static let deriveSourceDeath = LibraryProgram(
        "derive-source-death",
        "the death of an object whose property an observed derived value reads against a change of that",
        in: MortalRun.init,
        setUp: { $0.begin() },
        ["drop the object": { $0.object = nil }],
        ["set its property": { $0.setNumber() }, "read": { $0.world.read { $0 != 0 } }],
        rest: { $0.world.checkRest(-1) },
        { $0.world.end() }
    )

    /// Two derived values. A source decides which one reads the other; they never both do. (P25)
    static let deriveCross = LibraryProgram(
        "derive-cross",
        "two derived values, each of which reads the other at another time, read by two threads",
        in: cross,
        ["read X": { $0.x.read() }],
        ["side": { $0.y.set(1) }, "read Y": { $0.y.read { $0 == 11 } }],
        rest: { run in
            run.x.checkRest(10, isObserved: false)
            run.y.checkRest(11, isObserved: false)
        },
        { $0.end() }
    )

    /// A ring of two derived values. One of them has it as its error. The value that the other one
    /// reads afterwards does not depend on the ring. (P25)
    static let deriveRing = LibraryProgram(
        "derive-ring",
        "two derived values, which need each other once a source is set, read by two threads",
        in: ring,
        ["read X": { $0.x.read() }],
        ["close": { $0.y.set(1) }, "read Y": { $0.y.read { $0 == -1 } }],
        rest: { run in
            run.y.checkRest(-1, isObserved: false)
            let value = run.x.read()!
            run.x.check((try? value.get()) == nil, "P22.current", "at rest X is \(value), which needs itself")
        },
        { $0.end() }
    )

    /// The ring of two derived values is open before its evaluation has ended. Then none has an
    /// error. (P14, P22, P25)
    static let deriveRingOpens = LibraryProgram(
        "derive-ring-opens",
        "two derived values, which need each other until a source is set, read by two threads",
        in: openingRing,
        ["read X": { $0.x.read() }],
        ["open": { $0.y.set(1) }, "read Y": { $0.y.read { $0 == 10 } }],
        rest: { run in
            run.y.checkRest(10, isObserved: false)
            let value = run.x.read()!
            run.x.check((try? value.get()) == 10, "P22.current", "at rest X is \(value), and there is no ring")
        },
        { $0.end() }
    )

    @Sendable private static func cross(_ backend: LibraryBackend) -> RingRun<Int> {
        let (side, y) = (Observed(0), Shared<Derived<Int>?>(nil))
        let x = Derived { get in get(side) == 0 ? get(y.content!) + 1 : 10 }
        y.content = Derived { get in get(side) == 0 ? 20 : get(x) + 1 }
        return RingRun(backend, [side], x, y, isPossibleX: [10, 21].contains, isPossibleY: [20, 11].contains)
    }

    @Sendable private static func ring(_ backend: LibraryBackend) -> RingRun<Result<Int, DerivedCycle>> {
        let (isClosed, number, y) = (Observed(0), Observed(0), Shared<Derived<Int>?>(nil))
        let x = Derived(throwing: { get throws(DerivedCycle) in
            (get(isClosed) == 1 ? get(y.content!) : 10) + get(number)
        })
        y.content = Derived { get in (try? get(x).get()) ?? -1 }
        let isPossible = { (value: Result<Int, DerivedCycle>) in (try? value.get()).map { $0 == 10 } ?? true }
        return RingRun(backend, [isClosed, number], x, y, isPossibleX: isPossible, isPossibleY: [10, -1].contains)
    }

    @Sendable private static func openingRing(_ backend: LibraryBackend) -> RingRun<Result<Int, DerivedCycle>> {
        let (isOpen, number, y) = (Observed(1), Observed(0), Shared<Derived<Int>?>(nil))
        let x = Derived(throwing: { get throws(DerivedCycle) in get(y.content!) })
        // The number is read only after the ring was found, so there is no copy of it then.
        y.content = Derived { get in get(isOpen) == 1 ? 10 : ((try? get(x).get()) ?? -1) + get(number) }
        let isPossible = { (value: Result<Int, DerivedCycle>) in (try? value.get()).map { $0 == 10 } ?? true }
        // Before the ring closes, each has a published value. The same value must not replace it.
        _ = x.value
        isOpen.value = 0
        return RingRun(backend, [isOpen], x, y, isPossibleX: isPossible, isPossibleY: [10, -1].contains)
    }
}

/// Two derived values that retain each other, and their sources.
private final class RingRun<Value: Sendable & Equatable>: @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    let x: DerivedWorld<Value>
    let y: DerivedWorld<Int>
    private let other: Shared<Derived<Int>?>

    init(
        _ backend: LibraryBackend,
        _ sources: [Observed<Int>],
        _ x: Derived<Value>,
        _ y: Shared<Derived<Int>?>,
        isPossibleX: @escaping (Value) -> Bool,
        isPossibleY: @escaping (Int) -> Bool
    ) {
        self.x = DerivedWorld(backend, x, of: sources, isPossible: isPossibleX)
        self.y = DerivedWorld(backend, y.content!, of: sources, isPossible: isPossibleY)
        other = y
    }

    func end() {
        other.content = nil
        x.end()
        y.end()
    }
}

/// A derived value that depends on a property of an object that may die.
private final class MortalRun: @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    let world: DerivedWorld<Int>
    var object: WeakEnd?
    private let weak = WeakObserved<WeakEnd>()
    private var number: Observed<UInt64>?

    init(_ backend: LibraryBackend) {
        let weak = weak
        let derived = Derived { get in get(weak).map { Int(get($0.number)) } ?? -1 }
        world = DerivedWorld(backend, derived) { [-1, 0, 1].contains($0) }
    }

    func begin() {
        object = WeakEnd()
        number = object!.number
        weak.value = object
        world.observe()
    }

    func setNumber() {
        number!.value = 1
        number = nil
    }
}
