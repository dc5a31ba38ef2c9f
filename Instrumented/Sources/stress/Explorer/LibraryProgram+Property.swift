// SPDX-License-Identifier: Apache-2.0

extension LibraryProgram {
    /// Two writers and a thread that begins to observe. (P1 to P4)
    static let setSetObserve = LibraryProgram(
        name: "set-set-observe",
        summary: "two changes of a property against an observation with the initial value",
        threads: [["set 1"], ["set 2"], ["observe X"]]
    ) { backend in
        let world = PropertyWorld(backend, Observed(0))
        return Program.Instance(
            threads: [
                [{ world.set(1) }],
                [{ world.set(2) }],
                [{ world.observe("X", .initial) }],
            ],
            rest: world.rest
        )
    }

    /// A body that takes its time, and a registration that does not wait for it. (P4)
    static let modifyObserve = LibraryProgram(
        name: "modify-observe",
        summary: "the body of a modify against an observation with the initial value",
        threads: [["modify"], ["observe X"]]
    ) { backend in
        let world = PropertyWorld(backend, Observed(0))
        return Program.Instance(
            threads: [
                [
                    {
                        world.change { property in
                            property.modify { value in
                                world.step("in the body")
                                value += 1
                            }
                        }
                    }
                ],
                [{ world.observe("X", .initial) }],
            ],
            rest: world.rest
        )
    }

    /// Two exchanges expect the same value: one of them finds it. (P2)
    static let compareExchange = LibraryProgram(
        name: "compare-exchange",
        summary: "two that set a property if it has the value that both expect",
        threads: [["compareExchange 0 1"], ["compareExchange 0 2"]]
    ) { backend in
        let world = PropertyWorld(backend, Observed(0))
        let exchanges = Deferred<Int>()
        return Program.Instance(
            setUp: {
                exchanges.fill(0)
                world.observe("X")
            },
            threads: (1...2).map { desired in
                [
                    {
                        world.change { property in
                            let result = property.compareExchange(expected: 0, desired: desired)
                            if result.exchanged { exchanges.fill(exchanges.content + 1) }
                        }
                    }
                ]
            },
            rest: [
                {
                    world.check(
                        exchanges.content == 1,
                        "P2.no-lost-update",
                        "\(exchanges.content!) found the value that one exchange has replaced"
                    )
                }
            ] + world.rest
        )
    }

    /// A value that is replaced, and then destroyed, while it is copied. (P14)
    static let readSet = LibraryProgram(
        name: "read-set",
        summary: "reading a property of objects against a change",
        threads: [["read"], ["set"]]
    ) { backend in
        let world = PropertyWorld(backend, Observed(Boxed(0)))
        return Program.Instance(
            threads: [
                [{ withExtendedLifetime(world.property!.value) {} }],
                [{ world.set(Boxed(1)) }],
            ],
            rest: world.rest
        )
    }

    /// A value is replaced while `withValue` borrows it. (P14)
    static let borrowSet = LibraryProgram(
        name: "borrow-set",
        summary: "withValue on a property of objects against a change",
        threads: [["withValue"], ["set"]]
    ) { backend in
        let world = PropertyWorld(backend, Observed(Boxed(0)))
        return Program.Instance(
            threads: [
                [{ world.property!.withValue { _ in world.step("in the body") } }],
                [{ world.set(Boxed(1)) }],
            ],
            rest: world.rest
        )
    }

    /// Values in boxes that are too large to be recycled: the thread that replaces them releases
    /// them itself, two at a time. (P14)
    static let magazine = magazine(
        "magazine",
        "three changes of a property of large values against withValue",
        ["withValue"]
    ) { world, _ in
        world.property!.withValue { _ in world.step("in the body") }
    }

    /// A drain waits for what another thread is releasing. (P16)
    static let magazineDrain = magazine(
        "magazine-drain",
        "three changes of a property of large values against a drain",
        ["drain"]
    ) { _, drain in
        drain()
    }

    private static func magazine(
        _ name: String,
        _ summary: String,
        _ operation: [StaticString],
        against body: @escaping @Sendable (_ world: PropertyWorld<SIMD64<Int>>, _ drain: () -> Void) -> Void
    ) -> LibraryProgram {
        LibraryProgram(name: name, summary: summary, threads: [["set", "set", "set"], operation]) { backend in
            let world = PropertyWorld(backend, Observed(SIMD64(repeating: 0)))
            let changes = Deferred<Int>()
            let set = {
                world.set(SIMD64(repeating: changes.content + 1))
                changes.fill(changes.content + 1)
            }
            let drain = {
                let count = changes.content!
                backend.drain()
                world.check(
                    backend.valuesDestroyed >= count,
                    "P16.drained",
                    "\(backend.valuesDestroyed) of \(count) replaced values are released after a drain"
                )
            }
            return Program.Instance(
                setUp: { changes.fill(0) },
                threads: [[set, set, set], [{ body(world, drain) }]],
                rest: [drain] + world.rest
            )
        }
    }

    /// Values in boxes, which the thread that replaces them recycles, while one is copied. (P2,
    /// P14)
    static let recycledBox = LibraryProgram(
        name: "recycled-box",
        summary: "four changes of a property of values in boxes against a snapshot",
        threads: [["set 1", "set 2", "set 3", "set 4"], ["snapshot"]]
    ) { backend in
        let world = PropertyWorld(backend, Observed(Sextet(0)))
        let look = {
            let (value, version) = world.property!.snapshot()
            world.check(value == Sextet(value.first), "P2.whole-value", "\(value) was never set")
            world.check(
                value.first == Int(version),
                "P2.version-fits",
                "\(value) is not the value of version \(version)"
            )
        }
        return Program.Instance(
            threads: [
                (1...4).map { number in { world.set(Sextet(number)) } },
                [look],
            ],
            rest: [look] + world.rest
        )
    }

    /// A value of two words, replaced twice while it is read: in the very slot that is read. (P2)
    static let tornRead = LibraryProgram(
        name: "torn-read",
        summary: "reading a property of two words against two changes",
        threads: [["read"], ["set 1", "set 2"]]
    ) { backend in
        let world = PropertyWorld(backend, Observed(Twins(0)))
        return Program.Instance(
            threads: [
                [
                    {
                        let (value, version) = world.property!.snapshot()
                        world.check(value.first == value.second, "P2.whole-value", "\(value) was never set")
                        world.check(
                            value.first == Int(version),
                            "P2.version-fits",
                            "\(value) is not the value of version \(version)"
                        )
                    }
                ],
                [{ world.set(Twins(1)) }, { world.set(Twins(2)) }],
            ],
            rest: world.rest
        )
    }

    /// Whichever is first: silence, or the end once. (P12)
    static let propertyDeathCancel = LibraryProgram(
        name: "property-death-cancel",
        summary: "the death of a property against a cancellation",
        threads: [["drop property"], ["cancel X"]]
    ) { backend in
        let world = PropertyWorld(backend, Observed(0))
        let observation = Deferred<PropertyWorld<Int>.Observation>()
        return Program.Instance(
            setUp: {
                observation.fill(world.observe("X"))
                world.observe("Y")
            },
            threads: [
                [{ world.drop() }],
                [{ world.cancel(observation.content) }],
            ],
            rest: world.rest
        )
    }
}
