// SPDX-License-Identifier: Apache-2.0

/// A program on the library's objects.
struct LibraryProgram: Sendable {
    let name: String
    let summary: String
    /// The names of the operations, by thread.
    let threads: [[StaticString]]
    /// Whether its schedules choose faults.
    let allowsFaults: Bool
    /// The number of preemptions and faults up to which all schedules are run. It is lower if each
    /// schedule takes a process.
    var mostPreemptions: Int { allowsFaults ? 2 : 8 }
    let make: @Sendable (LibraryBackend) -> Program.Instance

    func program(_ backend: LibraryBackend) -> Program {
        Program(name: name, threads: threads) { [make] in make(backend) }
    }

    /// The operations of one thread in order, each with its name in schedules.
    typealias Operations<Run> = KeyValuePairs<StaticString, @Sendable (Run) -> Void>

    /// Makes a program.
    ///
    /// - Parameters:
    ///   - make: Makes the objects that the operations of one run use.
    ///   - setUp: Runs before the threads, without preemptions.
    ///   - rest: Run one after the other when the threads have ended and nothing else can happen.
    init<Run>(
        _ name: String,
        _ summary: String,
        allowsFaults: Bool = false,
        in make: @escaping @Sendable (LibraryBackend) -> Run,
        setUp: @escaping @Sendable (Run) -> Void = { _ in },
        threads: [Operations<Run>],
        rest: [@Sendable (Run) -> Void]
    ) {
        (self.name, self.summary, self.allowsFaults) = (name, summary, allowsFaults)
        self.threads = threads.map { $0.map(\.key) }
        self.make = { backend in
            let run = make(backend)
            return Program.Instance(
                setUp: { setUp(run) },
                threads: threads.map { $0.map { operation in { operation.value(run) } } },
                rest: rest.map { step in { step(run) } }
            )
        }
    }

    init<Run>(
        _ name: String,
        _ summary: String,
        in make: @escaping @Sendable (LibraryBackend) -> Run,
        setUp: @escaping @Sendable (Run) -> Void = { _ in },
        _ threads: Operations<Run>...,
        rest: @Sendable (Run) -> Void...
    ) {
        self.init(name, summary, in: make, setUp: setUp, threads: threads, rest: rest)
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
        deriveCommitRead, deriveCopies, deriveCopiesNew, deriveCopiesTwice, deriveCross, deriveRing, deriveRingOpens,
        deriveSourceDeath, deriveKeepSet, deriveDeathSet,
        refusedCancel, exitNotify,
    ]

    static func named(_ name: String) -> LibraryProgram? { all.first { $0.name == name } }

    /// Uses all objects once, so that the first schedule of a program begins in the same state as
    /// all others.
    static let warmUp = LibraryProgram(
        "warm-up",
        "",
        in: { (world: World($0), property: PropertyWorld($0, Observed(Boxed(0)))) },
        [
            "everything": { run in
                run.world.observe("X")
                run.world.notify()
                run.world.cancel("X")
                run.property.observe("Y", .initial)
                run.property.set(Boxed(1))
            }
        ],
        rest: { $0.world.end() },
        { $0.world.checkEnded() },
        { $0.property.end() },
        { $0.property.checkEnded() }
    )
}

/// The objects of a program's run, and the promises that they must keep.
protocol ProgramPart: AnyObject, Checker where Name == String {
    var backend: LibraryBackend { get }
}

extension ProgramPart {
    /// Takes a step of user code.
    func step(_ name: StaticString) { backend.userStep(name) }

    func check(_ holds: Bool, _ invariant: String, _ message: @autoclosure () -> String) {
        if !holds { backend.scheduler.fail(invariant, message()) }
    }

    /// Checks, in a callback, that the library holds no lock and is in no read section. (P5)
    func checkCallback(_ name: String) {
        check(Instrumentation.forbiddenDepth == 0, "P5.no-lock-around-user-code") {
            "\(name) is called under a lock or in a read section"
        }
    }

    /// Checks that each change begins with the value with which the one before ended. (P2)
    func checkChain<Value: Equatable>(_ changes: [Change<Value>], _ invariant: String, _ name: String = "an observer") {
        for (change, next) in zip(changes, changes.dropFirst()) {
            check(change.new == next.old, invariant, "\(name): old of \(next.version) is not the last new")
        }
    }

    /// Checks that an observation has ended: its token is inactive, and its closure is destroyed.
    /// (P12, P14)
    func checkEnded(_ token: ObservationToken, _ name: String) {
        check(!token.isActive, "P12.inactive", "\(name)'s token is active at the end")
        let count = backend.destructions(of: token)
        check(count == 1, "P14.destroyed-once", "\(name)'s closure was destroyed \(count) times at the end")
    }
}

/// An object that the threads of a program share, until they release it.
final class Shared<Content>: @unchecked Sendable {
    // Unchecked: it belongs to the running thread.
    var content: Content
    init(_ content: Content) { self.content = content }
}
