// SPDX-License-Identifier: Apache-2.0

extension LibraryProgram {
    /// A derived value of two sources that always change together. (P19, P23)
    static let deriveCommit = derivedPair(
        "derive-commit",
        "a commit of two sources against a read of an observed derived value of both",
        setUp: { $0.world.observe() },
        ["commit": { $0.commits.commit() }],
        ["read": { $0.world.read() }],
        rest: { run in
            run.commits.checkRest(1)
            run.world.checkRest(ReadPair(1, 1))
            let count = run.world.received.count
            run.world.check(count == 1, "P23.one-per-commit", "received \(count)")
        }
    )

    /// The first read of a derived value of two sources that always change together. (P19, P23)
    static let deriveCommitRead = derivedPair(
        "derive-commit-read",
        "a commit of two sources against the first read of a derived value of both",
        ["commit": { $0.commits.commit() }],
        ["read": { $0.world.read() }],
        rest: { $0.world.checkRest(ReadPair(1, 1), isObserved: false) }
    )

    // The following functions run on copies of their sources after one failure. With twelve
    // failures there would be far too many schedules.

    /// A function that runs on copies after its first failure. (P23, P25)
    static let deriveCopies = derivedPair(
        "derive-copies",
        "commits of two sources against a read of a derived value that runs on copies of both after one failure",
        setUp: { _ in copyAfterOneFailure() },
        ["commit": { $0.commits.commit() }],
        ["commit": { $0.commits.commit() }],
        ["read": { $0.world.read() }],
        rest: { $0.world.checkRest(ReadPair(2, 2), isObserved: false) }
    )

    /// A function that reads the second source only after the first was copied. (P23, P25)
    static let deriveCopiesNew = derivedPair(
        "derive-copies-new",
        "commits of two sources against a read of a derived value that meets one of them while it runs on copies",
        readsBoth: false,
        setUp: { _ in copyAfterOneFailure() },
        ["commit": { $0.commits.commit() }],
        ["commit": { $0.commits.commit() }],
        ["read": { $0.world.read() }],
        rest: { $0.world.checkRest(ReadPair(2, 2), isObserved: false) }
    )

    /// A function that runs on copies after its first failure reads another derived value twice.
    /// (P24, P25)
    static let deriveCopiesTwice = LibraryProgram(
        "derive-copies-twice",
        "a change of a source against a read of a derived value that runs on copies, and reads another twice",
        in: { backend -> (runs: Shared<(outer: Int, inner: Int)>, world: DerivedWorld<ReadPair>) in
            let (source, quiet, runs) = (Observed(0), Observed(0), Shared((outer: 0, inner: 0)))
            let inner = Derived { get in
                runs.content.inner += 1
                return get(quiet)
            }
            let derived = Derived { get in
                runs.content.outer += 1
                let first = get(source)
                backend.userStep("in the function")
                return ReadPair(first + get(inner), get(source) + get(inner))
            }
            return (runs, DerivedWorld(backend, derived, of: [source], isPossible: \.isSame))
        },
        setUp: { _ in copyAfterOneFailure() },
        ["set 1": { $0.world.set(1) }],
        ["read": { $0.world.read() }],
        rest: { run in
            let (outer, inner) = run.runs.content
            run.world.check(inner <= outer, "P24.once-on-copies", "\(inner) runs for \(outer) reading it")
            run.world.checkRest(ReadPair(1, 1), isObserved: false)
        },
        { $0.world.end() }
    )

    @Sendable private static func copyAfterOneFailure() { unsafe Instrumentation.failuresBeforeCopies = 1 }

    /// Makes a program with a derived value of two sources, which always change together.
    ///
    /// - Parameter readsBoth: Whether the function also reads the second source if the first one is
    ///   0.
    private static func derivedPair(
        _ name: String,
        _ summary: String,
        readsBoth: Bool = true,
        setUp: @escaping @Sendable (PairRun) -> Void = { _ in },
        _ threads: Operations<PairRun>...,
        rest: @escaping @Sendable (PairRun) -> Void
    ) -> LibraryProgram {
        LibraryProgram(
            name,
            summary,
            in: { backend -> PairRun in
                let commits = CommitWorld(backend)
                let (x, y) = (commits.first, commits.second)
                let derived = Derived { get in
                    let first = get(x)
                    backend.userStep("in the function")
                    return ReadPair(first, readsBoth || first != 0 ? get(y) : 0)
                }
                return (commits, DerivedWorld(backend, derived, of: [x, y], isPossible: \.isSame))
            },
            setUp: setUp,
            threads: threads,
            rest: [rest, { $0.world.end() }]
        )
    }

    private typealias PairRun = (commits: CommitWorld, world: DerivedWorld<ReadPair>)
}
