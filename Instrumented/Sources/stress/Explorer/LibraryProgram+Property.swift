// SPDX-License-Identifier: Apache-2.0

extension LibraryProgram {
    /// Two writers and a thread that begins to observe. (P1 to P4)
    static let setSetObserve = property(
        "set-set-observe",
        "two changes of a property against an observation with the initial value",
        of: 0,
        ["set 1": { $0.set(1) }],
        ["set 2": { $0.set(2) }],
        ["observe X": { $0.observe("X", .initial) }]
    )

    /// The body of a `modify` takes some time. A registration does not wait for it. (P4)
    static let modifyObserve = property(
        "modify-observe",
        "the body of a modify against an observation with the initial value",
        of: 0,
        [
            "modify": { world in
                world.property.modify { value in
                    world.step("in the body")
                    value += 1
                }
            }
        ],
        ["observe X": { $0.observe("X", .initial) }]
    )

    /// Two exchanges expect the same value. Only one of them finds it. (P2)
    static let compareExchange = property(
        "compare-exchange",
        "two that set a property if it has the value that both expect",
        of: 0,
        setUp: { $0.observe("X") },
        [
            "compareExchange 0 1": {
                if $0.property.compareExchange(expected: 0, desired: 1).exchanged { $0.count += 1 }
            }
        ],
        [
            "compareExchange 0 2": {
                if $0.property.compareExchange(expected: 0, desired: 2).exchanged { $0.count += 1 }
            }
        ],
        rest: { world in
            let count = world.count
            world.check(count == 1, "P2.no-lost-update", "\(count) found the value that one exchange has replaced")
        }
    )

    /// A value is replaced and then destroyed while another thread copies it. (P14)
    static let readSet = property(
        "read-set",
        "reading a property of objects against a change",
        of: Boxed(0),
        ["read": { withExtendedLifetime($0.property.value) {} }],
        ["set": { $0.set(Boxed(1)) }]
    )

    /// A value is replaced while `withValue` borrows it. (P14)
    static let borrowSet = property(
        "borrow-set",
        "withValue on a property of objects against a change",
        of: Boxed(0),
        ["withValue": { world in world.property.withValue { _ in world.step("in the body") } }],
        ["set": { $0.set(Boxed(1)) }]
    )

    /// Values in boxes that are too large to be recycled. The thread that replaces them releases
    /// them itself, two at a time. (P14)
    static let magazine = magazine(
        "magazine",
        "three changes of a property of large values against withValue",
        ["withValue": { world in world.property.withValue { _ in world.step("in the body") } }]
    )

    /// A drain waits for the values that another thread is releasing. (P16)
    static let magazineDrain = magazine(
        "magazine-drain",
        "three changes of a property of large values against a drain",
        ["drain": drain]
    )

    private static func magazine(
        _ name: String,
        _ summary: String,
        _ operation: Operations<PropertyWorld<SIMD64<Int>>>
    ) -> LibraryProgram {
        let set: @Sendable (PropertyWorld<SIMD64<Int>>) -> Void = { world in
            world.set(SIMD64(repeating: world.count + 1))
            world.count += 1
        }
        return property(
            name,
            summary,
            of: SIMD64(repeating: 0),
            ["set": set, "set": set, "set": set],
            operation,
            rest: drain
        )
    }

    private static let drain: @Sendable (PropertyWorld<SIMD64<Int>>) -> Void = { world in
        let (count, backend) = (world.count, world.backend)
        backend.drain()
        world.check(backend.valuesDestroyed >= count, "P16.drained") {
            "\(backend.valuesDestroyed) of \(count) replaced values are released after a drain"
        }
    }

    /// Values in boxes. One thread copies a value. The thread that replaces them recycles the
    /// boxes. (P2, P14)
    static let recycledBox = property(
        "recycled-box",
        "four changes of a property of values in boxes against a snapshot",
        of: Sextet(0),
        [
            "set 1": { $0.set(Sextet(1)) }, "set 2": { $0.set(Sextet(2)) },
            "set 3": { $0.set(Sextet(3)) }, "set 4": { $0.set(Sextet(4)) },
        ],
        ["snapshot": { $0.look(\.first) { $0 == Sextet($0.first) } }],
        rest: { $0.look(\.first) { $0 == Sextet($0.first) } }
    )

    /// A value of two words is replaced twice while it is read. The second change writes to the
    /// slot that is being read. (P2)
    static let tornRead = property(
        "torn-read",
        "reading a property of two words against two changes",
        of: Twins(0),
        ["read": { $0.look(\.first) { $0.first == $0.second } }],
        ["set 1": { $0.set(Twins(1)) }, "set 2": { $0.set(Twins(2)) }]
    )

    /// A property dies while another thread cancels one of its observations. Whichever comes first,
    /// each observation ends once. (P12)
    static let propertyDeathCancel = property(
        "property-death-cancel",
        "the death of a property against a cancellation",
        of: 0,
        setUp: { world in for name in ["X", "Y"] { world.observe(name) } },
        ["drop property": { $0.drop() }],
        ["cancel X": { $0.cancel("X") }]
    )

    /// A referent dies when the property already refers to another one. (P12)
    static let weakDeathSet = LibraryProgram(
        "weak-death-set",
        "the death of a weak property's referent against a change to another",
        in: SuccessionWorld.init,
        setUp: { $0.property.value = $0.first },
        ["drop the referent": { $0.first = nil }],
        ["set another": { $0.property.value = $0.second }],
        rest: { world in
            let isThere = world.property.value === world.second
            world.check(isThere, "P12.successor-stays", "the death of a referent has cleared its successor")
        }
    )

    /// A property that always refers to an object is read while the previous object dies. (P2)
    static let weakSetRead = LibraryProgram(
        "weak-set-read",
        "the death of the referent before against a read of a weak property that always has one",
        in: SuccessionWorld.init,
        setUp: { $0.property.value = $0.first },
        ["set another": { $0.property.value = $0.second }, "drop the one before": { $0.first = nil }],
        [
            "read": { world in
                let isThere = world.property.snapshot().value != nil
                world.check(isThere, "P2.never-nil", "read as nil what always refers to an object")
            }
        ]
    )
}

/// A weak property, its referent, and the next referent.
private final class SuccessionWorld: ProgramPart, @unchecked Sendable {
    // Unchecked: everything belongs to the running thread.
    let backend: LibraryBackend
    let property = WeakObserved<Referent>()
    var first: Referent? = Referent()
    let second = Referent()

    init(_ backend: LibraryBackend) { self.backend = backend }
}
