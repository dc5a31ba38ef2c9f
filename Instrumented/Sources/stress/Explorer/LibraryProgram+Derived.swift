// SPDX-License-Identifier: Apache-2.0

extension LibraryProgram {
    /// A diamond is read while its source changes. (P22, P23)
    static let deriveReadSet = LibraryProgram(
        name: "derive-read-set",
        summary: "two changes of a diamond's source against two reads of its join",
        threads: [["set 1", "set 2"], ["read", "read"]]
    ) { backend in
        let source = Observed(0)
        let world = DerivedWorld(backend, diamond(of: source)) { $0.second == ~$0.first }
        return Program.Instance(
            setUp: { world.read() },
            threads: [
                [{ source.value = 1 }, { source.value = 2 }], [readAfter(source, world), readAfter(source, world)],
            ],
            rest: [{ world.checkRest(ReadPair(first: 2, second: ~2), isObserved: false) }, world.end]
        )
    }

    /// Two threads read a diamond. One of them has changed its source. (P22, P23)
    static let deriveReadRead = LibraryProgram(
        name: "derive-read-read",
        summary: "a change of a diamond's source and a read of its join against another read",
        threads: [["set 1", "read"], ["read"]]
    ) { backend in
        let source = Observed(0)
        let world = DerivedWorld(backend, diamond(of: source)) { $0.second == ~$0.first }
        return Program.Instance(
            setUp: { world.read() },
            threads: [[{ source.value = 1 }, readAfter(source, world)], [readAfter(source, world)]],
            rest: [{ world.checkRest(ReadPair(first: 1, second: ~1), isObserved: false) }, world.end]
        )
    }

    /// A diamond is observed while two threads change its source, and one of them reads it. (P23,
    /// P24)
    static let deriveObserveSet = LibraryProgram(
        name: "derive-observe-set",
        summary: "changes of an observed diamond's source on two threads, one of which then reads the join",
        threads: [["set 1"], ["set 2", "read"]]
    ) { backend in
        let source = Observed(0)
        let world = DerivedWorld(backend, diamond(of: source)) { $0.second == ~$0.first }
        return Program.Instance(
            setUp: world.observe,
            threads: [[{ source.value = 1 }], [{ source.value = 2 }, readAfter(source, world)]],
            rest: [
                {
                    world.checkRest(ReadPair(first: source.value, second: ~source.value), after: 2)
                    world.checkLinks(source, 1)
                }, world.end,
            ]
        )
    }

    /// Two sources of one observed function change at once. (P2, P24)
    static let deriveSetSet = LibraryProgram(
        name: "derive-set-set",
        summary: "a change of each of two sources of an observed derived value",
        threads: [["set X"], ["set Y"]]
    ) { backend in
        let (x, y) = (Observed(0), Observed(0))
        let world = DerivedWorld(backend, Derived { get in ReadPair(first: get(x), second: get(y)) })
        return Program.Instance(
            setUp: world.observe,
            threads: [[{ x.value = 1 }], [{ y.value = 1 }]],
            rest: [{ world.checkRest(ReadPair(first: 1, second: 1), after: 2) }, world.end]
        )
    }

    /// A source says which of two others is read, while all of them change. (P24)
    static let deriveShapeSet = LibraryProgram(
        name: "derive-shape-set",
        summary: "a derived value comes to read another source while that changes",
        threads: [["choose Y"], ["set Y"]]
    ) { backend in
        let (choice, x, y) = (Observed(0), Observed(10), Observed(20))
        let world = DerivedWorld(backend, Derived { get in get(choice) == 0 ? get(x) : get(y) })
        return Program.Instance(
            setUp: world.observe,
            threads: [[{ choice.value = 1 }], [{ y.value = 21 }]],
            rest: [
                {
                    world.checkRest(21)
                    world.checkLinks(choice, 1)
                    world.checkLinks(x, 0)
                    world.checkLinks(y, 1)
                }, world.end,
            ]
        )
    }

    /// The last observer's observation ends, and another begins, while the source changes. (P24)
    static let deriveCancelSet = LibraryProgram(
        name: "derive-cancel-set",
        summary: "the end of the last observation of a derived value against a change, and a read after it",
        threads: [["cancel"], ["set 1", "read"]]
    ) { backend in
        let source = Observed(0)
        let world = DerivedWorld(backend, Derived { get in get(source) })
        return Program.Instance(
            setUp: world.observe,
            threads: [
                [
                    {
                        world.cancel()
                        world.checkLinksNow(source)
                    }
                ], [{ source.value = 1 }, { world.read { $0 == 1 } }],
            ],
            rest: [
                {
                    world.checkRest(1, isObserved: false)
                    world.check(world.received.count <= 1, "P1.every-change-once", "one change was received twice")
                    world.checkLinks(source, 0, "P24.links-end")
                }, world.end,
            ]
        )
    }

    /// Two sources that always change together. (P19, P23)
    static let deriveCommit = LibraryProgram(
        name: "derive-commit",
        summary: "a commit of two sources against a read of an observed derived value of both",
        threads: [["commit"], ["read"]]
    ) { backend in
        let commits = CommitWorld(backend)
        let world = DerivedWorld(backend, pair(of: commits, backend)) { $0.first == $0.second }
        return Program.Instance(
            setUp: world.observe,
            threads: [[{ commits.commit(commits.group) }], [{ world.read() }]],
            rest: [
                {
                    commits.checkRest(1)
                    world.checkRest(ReadPair(first: 1, second: 1))
                    world.check(world.received.count == 1, "P23.one-per-commit", "received \(world.received.count)")
                }, world.end,
            ]
        )
    }

    /// The first read of a derived value of such sources. (P19, P23)
    static let deriveCommitRead = LibraryProgram(
        name: "derive-commit-read",
        summary: "a commit of two sources against the first read of a derived value of both",
        threads: [["commit"], ["read"]]
    ) { backend in
        let commits = CommitWorld(backend)
        let world = DerivedWorld(backend, pair(of: commits, backend)) { $0.first == $0.second }
        return Program.Instance(
            threads: [[{ commits.commit(commits.group) }], [{ world.read() }]],
            rest: [{ world.checkRest(ReadPair(first: 1, second: 1), isObserved: false) }, world.end]
        )
    }

    /// Two derived values: one reads the other, as a source says, and never both. (P25)
    static let deriveCross = LibraryProgram(
        name: "derive-cross",
        summary: "two derived values, each of which reads the other at another time, read by two threads",
        threads: [["read X"], ["side", "read Y"]]
    ) { backend in
        let side = Observed(0)
        let other = Deferred<Derived<Int>>()
        let x = Derived { get in get(side) == 0 ? get(other.content) + 1 : 10 }
        let y = Derived { get in get(side) == 0 ? 20 : get(x) + 1 }
        other.fill(y)
        let worlds = (
            DerivedWorld(backend, x) { $0 == 21 || $0 == 10 }, DerivedWorld(backend, y) { $0 == 20 || $0 == 11 }
        )
        return Program.Instance(
            threads: [[{ worlds.0.read() }], [{ side.value = 1 }, { worlds.1.read { $0 == 11 } }]],
            rest: [
                {
                    worlds.0.checkRest(10, isObserved: false)
                    worlds.1.checkRest(11, isObserved: false)
                },
                {
                    // Each retains the other.
                    other.fill(Derived { _ in 0 })
                    worlds.0.end()
                    worlds.1.end()
                },
            ]
        )
    }

    /// A source dies, which the function has read through a weak property. (P12, P24)
    static let deriveSourceDeath = LibraryProgram(
        name: "derive-source-death",
        summary: "the death of an object whose property an observed derived value reads against a change of that",
        threads: [["drop the object"], ["set its property", "read"]]
    ) { backend in
        let weak = WeakObserved<DerivedSource>()
        let object = Deferred<DerivedSource?>()
        let world = DerivedWorld(backend, Derived { get in get(weak).map { get($0.number) } ?? -1 }) {
            [-1, 0, 1].contains($0)
        }
        let number = Deferred<Observed<Int>?>()
        return Program.Instance(
            setUp: {
                object.fill(DerivedSource())
                number.fill(object.content!.number)
                weak.value = object.content
                world.observe()
            },
            threads: [
                [{ object.fill(nil) }],
                [
                    {
                        number.content?.value = 1
                        number.fill(nil)
                    }, { world.read { $0 != 0 } },
                ],
            ],
            rest: [{ world.checkRest(-1) }, world.end]
        )
    }

    /// The program's last reference to an observed derived value goes while a source changes. (P11)
    static let deriveKeepSet = LibraryProgram(
        name: "derive-keep-set",
        summary: "a derived value that only its observation keeps from now on against a change of its source",
        threads: [["drop"], ["set 1"]]
    ) { backend in
        let source = Observed(0)
        let world = DerivedWorld(backend, source.map { $0 })
        return Program.Instance(
            setUp: world.observe,
            threads: [[world.drop], [{ source.value = 1 }]],
            rest: [
                {
                    world.checkKept(1)
                    world.checkLinks(source, 1)
                    world.cancel()
                    world.checkLinks(source, 0, "P24.links-end")
                }, world.end,
            ]
        )
    }

    /// The last reference to a model's observed derived value goes while a source changes. (P12)
    static let deriveDeathSet = LibraryProgram(
        name: "derive-death-set",
        summary: "the death of a model's observed derived value against a change of its source",
        threads: [["drop"], ["set 1"]]
    ) { backend in
        let source = Observed(0)
        let world = DerivedWorld(backend, Derived { get in get(source) }.asModels)
        return Program.Instance(
            setUp: world.observe,
            threads: [[world.drop], [{ source.value = 1 }]],
            rest: [
                {
                    world.checkDeath()
                    world.checkLinks(source, 0, "P24.links-end")
                }, world.end,
            ]
        )
    }

    /// A number and its complement, by two ways.
    private static func diamond(of source: Observed<Int>) -> Derived<ReadPair> {
        let (left, right) = (source.map { $0 }, source.map { ~$0 })
        return Derived { get in ReadPair(first: get(left), second: get(right)) }
    }

    /// The two that change together, with a step in between.
    static func pair(of commits: CommitWorld, _ backend: LibraryBackend) -> Derived<ReadPair> {
        let (x, y) = (commits.first, commits.second)
        return Derived { get in
            let first = get(x)
            backend.userStep("in the function")
            return ReadPair(first: first, second: get(y))
        }
    }

    /// Reads, and expects nothing older than what the source had before.
    private static func readAfter(_ source: Observed<Int>, _ world: DerivedWorld<ReadPair>) -> () -> Void {
        {
            let (before, version) = source.snapshot()
            let value = world.read()!.first
            // The same version before and after: the value was present all the time.
            world.check(
                value == before || source.version != version,
                "P22.current",
                "read \(value), and the source had \(before) all the time"
            )
        }
    }
}

/// An object that may die, and a property of it.
private final class DerivedSource: WeaklyObservable {
    let lifetime = ReferentLifetime()
    let number = Observed(0)
}
