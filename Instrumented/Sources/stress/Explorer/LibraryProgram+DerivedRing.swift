// SPDX-License-Identifier: Apache-2.0

extension LibraryProgram {
    /// A ring, reported by one of its two members. What the other then reads does not depend on the
    /// ring. (P25)
    static let deriveRing = LibraryProgram(
        name: "derive-ring",
        summary: "two derived values, which need each other once a source is set, read by two threads",
        threads: [["read X"], ["close", "set 1", "read Y"]]
    ) { backend in
        let (isClosed, number) = (Observed(false), Observed(0))
        let other = Deferred<Derived<Int>>()
        let x = Derived(throwing: { get throws(DerivedCycle) in
            (get(isClosed) ? get(other.content) : 10) + get(number)
        })
        let y = Derived { get in (try? get(x).get()) ?? -1 }
        other.fill(y)
        let worlds = (
            DerivedWorld(backend, x) { value in (try? value.get()).map { $0 == 10 } ?? true },
            DerivedWorld(backend, y) { $0 == 10 || $0 == -1 }
        )
        return Program.Instance(
            threads: [
                [{ worlds.0.read() }],
                [{ isClosed.value = true }, { number.value = 1 }, { worlds.1.read { $0 == -1 } }],
            ],
            rest: [
                {
                    worlds.1.checkRest(-1, isObserved: false)
                    let value = x.value
                    worlds.0.check(
                        (try? value.get()) == nil,
                        "P22.current",
                        "at rest X is \(value), which needs itself"
                    )
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
}
