// SPDX-License-Identifier: Apache-2.0

/// Runs a program under one schedule after the other.
package final class Exploration {
    package let program: Program
    package let omissions: Omissions
    private let scheduler: ControlledScheduler

    /// Called between runs, while no thread runs.
    package var betweenRuns: () -> Void = {}
    /// Called when a program is set up, before its threads run.
    package var beforeThreads: () -> Void = {}
    /// Runs when the program's threads have ended and nothing else can happen, before anything is
    /// checked.
    package var afterThreads: (() -> Void)?
    /// The largest number of faults in a schedule.
    package var mostFaults = Int.max
    /// Called at every step of the program's threads, with its number.
    package var onStep: ((_ step: Int, Columns.Step) -> Void)?

    /// A failure, and the schedule that repeats it.
    package struct Finding {
        package let failure: ScheduledRun.Failure
        package let schedule: Schedule
        package let preemptions: Int
        package let steps: [Columns.Step]
    }

    package struct Result {
        /// The number of schedules that were run. Repetitions of a schedule are not counted.
        package var runs = 0
        /// Whether all schedules of the strategy were run.
        package var isComplete = false
        /// Whether the bound on preemptions has excluded schedules.
        package var isBounded = false
        package var finding: Finding?
    }

    /// Thrown if the same schedule gives another result: the program is not deterministic.
    package struct Divergence: Error {
        package let message: String
    }

    package init(_ program: Program, omitting omissions: Omissions = Omissions(), on scheduler: ControlledScheduler) {
        (self.program, self.omissions, self.scheduler) = (program, omissions, scheduler)
    }

    /// Runs the program once.
    ///
    /// - Parameter onFailure: Called at the first failure, before anything else happens.
    package func run(_ strategy: any Strategy, onFailure: ((Finding) -> Void)? = nil) -> (
        run: ScheduledRun, finding: Finding?
    ) {
        let instance = program.make()
        // Stuck threads have its locks: its deinitialisers would wait forever.
        defer { if scheduler.isBroken { scheduler.kept = instance } }
        var main: ScheduledRun?
        var names: [String]?
        func finding(_ run: ScheduledRun) -> Finding? {
            guard let failure = run.failure else { return nil }
            let shown = main ?? run
            let schedule = shown.failingSchedule
            let names = names ?? scheduler.threads.map(\.name)
            let steps = zip(schedule.steps, shown.labels).map { thread, label in
                let name = thread < names.count ? names[thread] : "fault"
                return Columns.Step(thread: thread, name: name, label: label.description)
            }
            return Finding(failure: failure, schedule: schedule, preemptions: shown.preemptions, steps: steps)
        }
        scheduler.onFailure = { run in finding(run).map { onFailure?($0) } }
        defer { scheduler.onFailure = nil }

        if let setUp = instance.setUp {
            let prepared = scheduler.run([("set up", setUp)])
            if prepared.failure != nil { return (prepared, finding(prepared)) }
        }
        beforeThreads()
        let threads = instance.threads.enumerated().map { thread, all -> (name: String, body: () -> Void)? in
            let operations = all.enumerated().filter { index, _ in
                !omissions.operations.contains(Omissions.Operation(thread: thread, index: index))
            }
            if operations.isEmpty { return nil }
            return (
                name: instance.names?[thread] ?? "thread \(Schedule.letter(of: thread))",
                body: { [program] in
                    for (index, operation) in operations {
                        if !program.threads.isEmpty, let current = ScheduledThread.current {
                            current.scheduler.step(current, program.threads[thread][index])
                        }
                        operation()
                    }
                }
            )
        }
        scheduler.onStep = onStep
        let run = scheduler.run(threads, strategy, mostFaults: mostFaults)
        scheduler.onStep = nil
        if run.failure != nil { return (run, finding(run)) }
        (main, names) = (run, scheduler.threads.map(\.name))
        if let afterThreads {
            let settled = scheduler.run([("settle", afterThreads)])
            if settled.failure != nil { return (run, finding(settled)) }
        }
        for rest in instance.rest {
            let rest = scheduler.run([("rest", rest)])
            if rest.failure != nil { return (run, finding(rest)) }
        }
        return (run, nil)
    }

    /// Runs the program under all of the strategy's schedules, at most `limit`, until one fails.
    package func search(_ strategy: any Strategy, limit: Int = .max, onFailure: ((Finding) -> Void)? = nil)
        throws(Divergence)
        -> Result
    {
        var result = Result()
        while true {
            let (run, found) = run(strategy, onFailure: onFailure)
            result.runs += 1
            result.finding = found
            betweenRuns()
            if found != nil { return result }
            if let search = strategy as? DepthFirst, search.hasDiverged {
                throw Divergence(message: "schedule \(result.runs) did not begin as the one before it")
            }
            if result.runs % 100 == 0 { try repeatRun(run, number: result.runs) }
            guard strategy.advance() else {
                result.isComplete = true
                return result
            }
            if result.runs >= limit { return result }
        }
    }

    /// Runs the program under all schedules with at most 0, 1, … `bound` preemptions. Stops when
    /// one fails, or when no schedule is left.
    ///
    /// Most failures need few preemptions, and there are few such schedules.
    package func search(upTo bound: Int, limit: Int = .max, onFailure: ((Finding) -> Void)? = nil) throws(Divergence)
        -> Result
    {
        var fewer = 0
        while true {
            let strategy = DepthFirst(bound: fewer)
            var result = try search(strategy, limit: limit, onFailure: onFailure)
            result.isBounded = strategy.isBounded
            if result.finding != nil || fewer >= bound || !strategy.isBounded { return result }
            fewer += 1
        }
    }

    /// Runs the program without preemptions. If it does not fail, runs the same schedule once more,
    /// and checks that the result is the same.
    package func runTwice() throws(Divergence) -> Finding? {
        let (first, found) = run(Undisturbed())
        if found == nil { try repeatRun(first, number: 1) }
        return found
    }

    /// Runs a schedule again, and throws if the result is not the same.
    private func repeatRun(_ first: ScheduledRun, number: Int) throws(Divergence) {
        let repetition = Repetition(first.schedule)
        let (second, _) = run(repetition)
        betweenRuns()
        guard !repetition.doesNotFit, second.fingerprint == first.fingerprint, second.schedule == first.schedule else {
            throw Divergence(
                message: """
                    schedule \(number), \(first.schedule.text), did something else when it was run again: \(second.schedule.text)
                    """
            )
        }
    }
}
