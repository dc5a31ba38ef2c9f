// SPDX-License-Identifier: Apache-2.0

// Functions that run on copies of their sources after one failure: after twelve there would be no
// end of schedules.
extension LibraryProgram {
    /// Two sources that always change together, and a function that runs on copies after its first
    /// failure. (P23, P25)
    static let deriveCopies = LibraryProgram(
        name: "derive-copies",
        summary:
            "commits of two sources against a read of a derived value that runs on copies of both after one failure",
        threads: [["commit"], ["commit"], ["read"]]
    ) { backend in
        let commits = CommitWorld(backend)
        return onCopies(commits, DerivedWorld(backend, pair(of: commits, backend)) { $0.first == $0.second })
    }

    /// Such sources, where the function comes to read the second only when the first is copied.
    /// (P23, P25)
    static let deriveCopiesNew = LibraryProgram(
        name: "derive-copies-new",
        summary:
            "commits of two sources against a read of a derived value that meets one of them while it runs on copies",
        threads: [["commit"], ["commit"], ["read"]]
    ) { backend in
        let commits = CommitWorld(backend)
        let (x, y) = (commits.first, commits.second)
        let derived = Derived { get in
            let first = get(x)
            backend.userStep("in the function")
            return ReadPair(first: first, second: first == 0 ? 0 : get(y))
        }
        return onCopies(commits, DerivedWorld(backend, derived) { $0.first == $0.second })
    }

    /// A derived value is read twice by one that runs on copies after its first failure. (P24, P25)
    static let deriveCopiesTwice = LibraryProgram(
        name: "derive-copies-twice",
        summary: "a change of a source against a read of a derived value that runs on copies, and reads another twice",
        threads: [["set 1"], ["read"]]
    ) { backend in
        let (source, quiet) = (Observed(0), Observed(0))
        let (runs, innerRuns) = (Deferred<Int>(), Deferred<Int>())
        runs.fill(0)
        innerRuns.fill(0)
        let inner = Derived { get in
            innerRuns.fill(innerRuns.content + 1)
            return get(quiet)
        }
        let derived = Derived { get in
            runs.fill(runs.content + 1)
            let first = get(source)
            backend.userStep("in the function")
            return ReadPair(first: first + get(inner), second: get(source) + get(inner))
        }
        let world = DerivedWorld(backend, derived) { $0.first == $0.second }
        return Program.Instance(
            setUp: { unsafe Instrumentation.failuresBeforeCopies = 1 },
            threads: [[{ source.value = 1 }], [{ world.read() }]],
            rest: [
                {
                    let counts = (innerRuns.content!, runs.content!)
                    world.check(
                        counts.0 <= counts.1,
                        "P24.once-on-copies",
                        "\(counts.0) runs for \(counts.1) reading it"
                    )
                    world.checkRest(ReadPair(first: 1, second: 1), isObserved: false)
                }, world.end,
            ]
        )
    }

    private static func onCopies(_ commits: CommitWorld, _ world: DerivedWorld<ReadPair>) -> Program.Instance {
        let commit = { commits.commit(commits.group) }
        return Program.Instance(
            setUp: { unsafe Instrumentation.failuresBeforeCopies = 1 },
            threads: [[commit], [commit], [{ world.read() }]],
            rest: [{ world.checkRest(ReadPair(first: 2, second: 2), isObserved: false) }, world.end]
        )
    }
}
