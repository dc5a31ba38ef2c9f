// SPDX-License-Identifier: Apache-2.0

extension LibraryProgram {
    /// A value that one thread sets goes round a cycle through a path while another thread sets the
    /// same property. (P3)
    static let bindPathCycle = LibraryProgram(
        name: "bind-path-cycle",
        summary: "two changes of a property that is bound through a path, and bound back",
        threads: [["set 8"], ["set 16"]]
    ) { backend in
        let root = PathMiddle(PathEnd(0))
        let (number, other) = (root.end.value!.number, Observed<UInt64>(0))
        let cycle = Deferred<(tokens: [ObservationToken], changes: [Change<UInt64>])>()
        return Program.Instance(
            setUp: {
                cycle.fill(([], []))
                let tokens = [
                    root.property(\.end.number).bind(to: other) { ($0 ?? 0) + 1 },
                    other.bind(to: number) { $0 + 1 },
                    number.observe { change in cycle.fill((cycle.content.tokens, cycle.content.changes + [change])) },
                ]
                cycle.fill((tokens, []))
            },
            threads: [[{ number.value = 8 }], [{ number.value = 16 }]],
            rest: [
                {
                    for change in cycle.content.changes where change.new % 8 != 0 {
                        if change.old == change.new - 2 { continue }
                        backend.scheduler.fail(
                            "P3.no-echo",
                            "\(change.new) has come round to \(change.old!), which another thread has set"
                        )
                    }
                    if number.value % 8 != 2 || other.value != number.value - 1 {
                        backend.scheduler.fail(
                            "P3.destination-follows",
                            "what came round is \(number.value), what it was made of \(other.value)"
                        )
                    }
                    cycle.fill(([], []))
                }
            ]
        )
    }
}
