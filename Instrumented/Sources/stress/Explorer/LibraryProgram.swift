// SPDX-License-Identifier: Apache-2.0

/// A program on the library's objects.
struct LibraryProgram: Sendable {
    let name: String
    let summary: String
    /// The names of the operations, thread by thread.
    let threads: [[StaticString]]
    /// Whether faults are choices of its schedules.
    var allowsFaults = false
    /// All its schedules are those with so many preemptions and faults at most: where each takes a
    /// process, fewer.
    var mostPreemptions = 8
    let make: @Sendable (LibraryBackend) -> Program.Instance

    func program(_ backend: LibraryBackend) -> Program {
        Program(name: name, threads: threads) { [make] in make(backend) }
    }

    static let all: [LibraryProgram] = [
        registerNotifyCancel, waitNotify, cancelCancelNotify, waitNested, mutualCancel, appendCompactWalk, growWalk,
        deathCancel,
        cancelListen, cancelCount,
        setSetObserve, modifyObserve, compareExchange, readSet, borrowSet, magazine, magazineDrain, recycledBox,
        tornRead,
        propertyDeathCancel, serialSetSet, bindSetSet, bindBothWays, bindPathCycle, pathRelinkSet, serialPathRelinkSet,
        pathRelinkRelink, pathDeathSet, pathDeathAhead, weakDeathSet, weakSetRead, groupCancelAll, bindCancelAll,
        cancelAllTwice,
        commitCommit, commitRead, commitSnapshot, commitReading, commitCommitRead, commitModify, commitObserve,
        commitDeath, commitRemove, commitRelink, pairCommits, pairCancel,
        deriveReadSet, deriveReadRead, deriveObserveSet, deriveSetSet, deriveShapeSet, deriveCancelSet, deriveCommit,
        deriveCommitRead, deriveCopies, deriveCopiesNew, deriveCopiesTwice, deriveCross, deriveRing,
        deriveSourceDeath, deriveKeepSet, deriveDeathSet,
        refusedCancel, exitNotify,
    ]

    static func named(_ name: String) -> LibraryProgram? { all.first { $0.name == name } }

    /// Uses everything once, so that the first schedule of a program finds what all others find.
    static let warmUp = LibraryProgram(name: "warm-up", summary: "", threads: [["everything"]]) { backend in
        let world = World(backend)
        let property = PropertyWorld(backend, Observed(Boxed(0)))
        return Program.Instance(
            threads: [
                [
                    {
                        let source = world.makeSource()
                        let observation = world.observe(source, "X")
                        world.notify(source)
                        world.cancel(observation)
                        property.observe("Y", .initial)
                        property.set(Boxed(1))
                    }
                ]
            ],
            rest: world.rest + property.rest
        )
    }
}

/// An object that is made in a program's set-up.
final class Deferred<Content>: @unchecked Sendable {
    // Unchecked: it belongs to the running thread.
    private(set) var content: Content!
    func fill(_ content: Content) { self.content = content }
}
