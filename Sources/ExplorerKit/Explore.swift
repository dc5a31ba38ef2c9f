// SPDX-License-Identifier: Apache-2.0

import Glibc
import StressKit
import Synchronization

/// Says which schedules of a program ``explore(_:mostSteps:_:)`` runs.
public enum ScheduleSearch: Equatable, Sendable {
    /// All schedules with at most this number of preemptions. Those with the fewest come first.
    ///
    /// A preemption is a switch away from a thread that could go on. Most bugs need two at most.
    /// (Musuvathi and Qadeer, "Iterative Context Bounding for Systematic Testing of Multithreaded
    /// Programs", PLDI 2007.) The number of schedules grows with the power of the bound.
    case preemptions(Int)
    /// At every step any thread, each with the same probability. Use it for programs with too many
    /// schedules.
    case random(schedules: Int = 10_000, seed: UInt64 = 1)
    /// Each thread has a random priority, and priorities change at `depth` - 1 steps. A bug that
    /// needs `depth` orderings is found with a known probability. (Burckhardt and others, "A
    /// Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010.)
    case pct(depth: Int, schedules: Int = 10_000, seed: UInt64 = 1)
    /// One schedule: the text from a failure.
    case replay(String)
}

/// The result of an exploration that found nothing.
public struct Explored: Equatable, Sendable {
    /// The number of schedules that were run. With `.preemptions`, the number of different
    /// schedules.
    public let schedules: Int
    /// Whether every schedule of the program was run, with any number of preemptions.
    public let isComplete: Bool
}

/// A failure of a program under one schedule.
///
/// The description has the failure, the schedule as a table with a column for each thread, and the
/// search that runs it again.
public struct ExplorationFailure: Error, CustomStringConvertible, Sendable {
    /// The reason for which a schedule fails.
    public enum Kind: String, Sendable {
        /// A check of the program did not hold.
        case check
        /// No thread could go on.
        case deadlock
        /// A schedule had too many steps.
        case livelock
        /// The program did something else under the same schedule. Or the schedule to replay does
        /// not belong to this program.
        case notDeterministic = "not deterministic"
        /// The text to replay is not a schedule.
        case replay
    }

    /// The kind of the failure.
    public let kind: Kind
    /// Says which check did not hold, or what each thread waited for.
    public let message: String
    /// The shortest failing schedule that was found. Pass it to ``ScheduleSearch/replay(_:)``.
    public let schedule: String
    /// The number of preemptions in `schedule`.
    public let preemptions: Int
    /// The number of schedules that were run until the failure was found. With `.preemptions`,
    /// these are the schedules with at most as many preemptions as the failure has.
    public let schedules: Int
    public let description: String

    fileprivate var summary: String { "\(kind.rawValue): \(message)" }

    fileprivate init(_ kind: Kind, _ message: String, _ finding: Exploration.Finding? = nil, schedules: Int = 0) {
        (self.kind, self.message, self.schedules) = (kind, message, schedules)
        (schedule, preemptions) = (finding?.schedule.text ?? "", finding?.preemptions ?? 0)
        guard let finding else {
            description = "\(kind.rawValue): \(message)"
            return
        }
        let length = schedule.utf8.count
        description = """
            \(kind.rawValue): \(message)
            schedule \(schedules), preemptions: \(preemptions), steps: \(finding.steps.count)
            \(Columns.text(finding.steps, atMost: 60))
            again: explore(.replay(\(length > 500 ? "…)) with `schedule`, \(length) characters" : "\"\(schedule)\"))")
            """
    }
}

/// One run of a program: its threads, and what is checked.
public final class ExploredProgram: @unchecked Sendable {
    // Unchecked: the arrays belong to the thread that explores.
    private let scheduler: ControlledScheduler
    private var threads: [(name: String, body: () -> Void)] = []
    private var rest: [() -> Void] = []
    private var isComplete = false

    fileprivate init(_ scheduler: ControlledScheduler) { self.scheduler = scheduler }

    /// Moves the bodies out of this object. They reference the object, so they must not outlive
    /// their schedule.
    fileprivate func complete() -> Program.Instance {
        defer { (threads, rest, isComplete) = ([], [], true) }
        return Program.Instance(threads: threads.map { [$0.body] }, names: threads.map(\.name), rest: rest)
    }

    /// Adds a thread. It begins when the program's closure has returned. A program has at most
    /// eight threads. A thread can start another one with ``ExploredThread``.
    ///
    /// - Parameters:
    ///   - name: The title of its column in a failure.
    ///   - body: Runs once in every schedule.
    public func thread(_ name: String, _ body: @escaping @Sendable () -> Void) {
        precondition(
            !isComplete,
            "add threads in the program's closure; a thread starts another with ExploredThread.start"
        )
        precondition(threads.count < Schedule.programThreads, "a program has at most eight threads")
        threads.append((name, body))
    }

    /// Adds code that runs when all threads have ended. Most checks belong here.
    public func finally(_ body: @escaping @Sendable () -> Void) {
        precondition(!isComplete, "call finally in the program's closure, not in a thread")
        rest.append(body)
    }

    /// Records a failure if `condition` does not hold. Call it in a thread, or in `finally(_:)`.
    /// Only the first failure of a schedule is kept. The threads then run to their ends without
    /// preemptions.
    public func check(
        _ condition: Bool,
        _ message: @autoclosure () -> String,
        fileID: String = #fileID,
        line: Int = #line
    ) {
        precondition(ScheduledThread.current != nil, "check in a thread of the program or in `finally`")
        if !condition { scheduler.fail("\(fileID):\(line)", message()) }
    }

    /// Lets other threads run, as ``exploredPause()`` does.
    public func pause() { exploredPause() }
}

/// Runs a small program of threads under one schedule after the other, until one fails.
///
/// The program's closure is called for every schedule: it makes the objects, and adds the threads
/// and the checks. The threads are real ones and run one at a time. They switch at steps: the
/// operations of ``ExploredAtomic``, ``ExploredMutex`` and the other types of the façade, and
/// ``exploredStep(_:)``. The program must do the same whenever it runs under the same schedule: no
/// clock, no randomness, no other threads, no state that outlives a schedule. The first schedule,
/// every hundredth one and the one that fails run twice, to check this. The program's objects are
/// deinitialised after each schedule, outside it.
///
/// The calling thread waits. Several threads may explore at once. The call does not return if a
/// thread waits for something that the façade does not know, or runs forever without a step.
/// Threads in a deadlock or a livelock are stuck until the process ends, and the objects of their
/// program are kept. The next exploration has other threads. If the process crashes, a signal
/// handler writes the schedule to standard error, unless a sanitizer is in use.
///
/// - Parameters:
///   - search: The schedules to run.
///   - mostSteps: The largest number of steps, at least 1. A longer schedule is a livelock.
///   - program: Adds threads and checks. Runs on a thread of the exploration.
/// - Returns: The number of schedules that were run, and whether these are all.
/// - Throws: The first failure, shrunk to a schedule with few preemptions.
/// - Complexity: A schedule of *s* steps takes O(*s* · *t*) for *t* threads. A program of *t*
///   threads with *s* steps in all has O((*s* · *t*)^*p*) schedules with *p* preemptions.
@discardableResult
public func explore(
    _ search: ScheduleSearch = .preemptions(2),
    mostSteps: Int = 20_000,
    _ program: @escaping @Sendable (ExploredProgram) -> Void
) throws(ExplorationFailure) -> Explored {
    precondition(ScheduledThread.current == nil, "a program that is explored cannot explore")
    precondition(mostSteps > 0, "mostSteps must be at least 1")
    switch search {
    case .preemptions(let bound): precondition(bound >= 0, "a bound of preemptions cannot be negative")
    case .random(let schedules, _): precondition(schedules > 0, "a search runs at least one schedule")
    case .pct(let depth, let schedules, _):
        precondition(depth > 0, "a depth is at least 1")
        precondition(schedules > 0, "a search runs at least one schedule")
    case .replay: break
    }
    Trail.report(
        ("explore: signal ", " under the schedule ", ", preemptions: ", ": run it with explore(.replay(…))\n"),
        to: STDERR_FILENO
    )
    let result = Guarded<Result<Explored, ExplorationFailure>?>(nil)
    // All threads of the schedules, and the thread that starts them, are on one core: switching is
    // five times faster.
    let core = Explorer.nextCore()
    JoinableThread {
        JoinableThread.bind(toCore: core)
        let explorer = Explorer(core, mostSteps, program)
        let outcome = explorer.explore(search)
        explorer.close()
        result.withLock { $0 = outcome }
    }.join()
    return try result.withLock { $0! }.get()
}

private final class Explorer {
    private let program: @Sendable (ExploredProgram) -> Void
    private let makeScheduler: () -> ControlledScheduler
    private var scheduler: ControlledScheduler

    private static let cores = Atomic(Int(getpid()))
    static func nextCore() -> Int {
        let number = cores.wrappingAdd(1, ordering: .relaxed).newValue  // Relaxed: a number.
        return number % max(1, min(64, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    }

    init(_ core: Int, _ mostSteps: Int, _ program: @escaping @Sendable (ExploredProgram) -> Void) {
        self.program = program
        makeScheduler = {
            let scheduler = ControlledScheduler(onCore: core, mostSteps: mostSteps, helpersServe: false)
            scheduler.trail.adopt()
            return scheduler
        }
        scheduler = makeScheduler()
    }

    func close() {
        Trail.abandon()
        scheduler.close()
    }

    /// Returns an exploration whose threads are not stuck.
    private var exploration: Exploration {
        if scheduler.isBroken {
            close()
            scheduler = makeScheduler()
        }
        let program = Program(name: "", threads: []) { [program, scheduler] in
            let explored = ExploredProgram(scheduler)
            program(explored)
            return explored.complete()
        }
        return Exploration(program, on: scheduler)
    }

    func explore(_ search: ScheduleSearch) -> Result<Explored, ExplorationFailure> {
        do throws(Exploration.Divergence) {
            if case .replay(let text) = search {
                guard let schedule = Schedule(text: text) else {
                    let message = "\"\(text)\" is no schedule: letters and counts, such as a2b3"
                    return .failure(ExplorationFailure(.replay, message))
                }
                let repeated = exploration.run(Repetition(schedule))
                guard repeated.run.schedule.steps.starts(with: schedule.steps) else {
                    throw Exploration.Divergence(message: "\(text) is no schedule of this program")
                }
                if let finding = repeated.finding { return .failure(failure(finding, schedules: 1)) }
                return .success(Explored(schedules: 1, isComplete: false))
            }
            var result = Exploration.Result(runs: 1, finding: try exploration.runTwice())
            var isExhaustive = false
            if result.finding == nil {
                switch search {
                case .preemptions(let bound):
                    isExhaustive = true
                    result = try exploration.search(upTo: bound)
                case .random(let schedules, let seed):
                    result = try exploration.search(RandomWalk(seed: seed, runs: schedules))
                case .pct(let depth, let schedules, let seed):
                    result = try exploration.search(PriorityWalk(depth: depth, seed: seed, runs: schedules))
                case .replay: break
                }
            }
            guard let found = result.finding else {
                let isComplete = isExhaustive && result.isComplete && !result.isBounded
                return .success(Explored(schedules: result.runs, isComplete: isComplete))
            }
            let shown = isExhaustive ? found : shrink(found)
            try failAgain(shown)
            return .failure(failure(shown, schedules: result.runs))
        } catch {
            return .failure(ExplorationFailure(.notDeterministic, error.message))
        }
    }

    /// Runs a failing schedule again, and throws if it does not fail in the same way.
    private func failAgain(_ found: Exploration.Finding) throws(Exploration.Divergence) {
        let again = exploration.run(Repetition(found.schedule)).finding
        if let again, again.failure.invariant == found.failure.invariant, again.schedule == found.schedule { return }
        throw Exploration.Divergence(
            message: """
                schedule \(found.schedule.text) failed, \(failure(found, schedules: 1).summary); run again: \
                \(again.map { failure($0, schedules: 1).summary } ?? "no failure")
                """
        )
    }

    /// Searches a few thousand schedules for the same failure with fewer preemptions.
    private func shrink(_ found: Exploration.Finding) -> Exploration.Finding {
        for fewer in 0..<min(found.preemptions, 4) {
            let simpler = (try? exploration.search(DepthFirst(bound: fewer), limit: 5_000))?.finding
            if let simpler, simpler.failure.invariant == found.failure.invariant { return simpler }
        }
        return found
    }

    private func failure(_ finding: Exploration.Finding, schedules: Int) -> ExplorationFailure {
        let kind: ExplorationFailure.Kind
        var message = finding.failure.message
        switch finding.failure.invariant {
        case "progress.deadlock": kind = .deadlock
        case "progress.livelock": kind = .livelock
        case let place:
            kind = .check
            message += " (\(place))"
        }
        return ExplorationFailure(kind, message, finding, schedules: schedules)
    }
}
