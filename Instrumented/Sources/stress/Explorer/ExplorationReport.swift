// SPDX-License-Identifier: Apache-2.0

/// The result of exploring one program, with the smallest failure that was found.
struct ExplorationReport {
    let text: String
    let exit: StressExit

    init(_ program: LibraryProgram, _ search: SearchOptions) {
        let start = nanoseconds()
        var seconds: String { "\((Double(nanoseconds() - start) / 1e8).rounded() / 10) s" }
        switch ExplorationProcess.explore(program, search) {
        case .explored(let runs, let isComplete):
            let all = search.isExhaustive && !isComplete ? "more" : "\(runs)"
            text = "\(program.name): explored \(runs)/\(all), \(seconds), nothing found"
            exit = .pass
        case .diverged(let message):
            text = "\(program.name): HARNESS ERROR: \(message)"
            exit = .harnessError
        case .found(let invariant, let message, let schedule, let preemptions):
            let found = Shrinker.Candidate(
                omissions: Omissions(text: search.omit)!,
                schedule: schedule,
                preemptions: preemptions,
                message: message
            )
            let foundAfter = seconds
            let smallest = Self.shrink(found, invariant, program, search)
            let string = ExplorationString(
                program: program.name,
                faults: search.addedFaults,
                mutant: search.mutant?.rawValue,
                omissions: smallest.omissions,
                schedule: smallest.schedule
            ).text
            text = """
                \(program.name): VIOLATION \(invariant): \(smallest.message)
                found after \(foundAfter) in \(schedule.steps.count) steps; \(smallest.schedule.steps.count) steps and \
                \(smallest.preemptions) preemptions are enough, found after \(seconds):
                \(Columns.text(ExplorationProcess.replay(string).steps))
                stress replay '\(string)'
                """
            exit = invariant == ExplorationVerdict.crash ? .crash : .violated
        }
    }

    private static func shrink(
        _ found: Shrinker.Candidate,
        _ invariant: String,
        _ program: LibraryProgram,
        _ search: SearchOptions
    ) -> Shrinker.Candidate {
        let shrinker = Shrinker(operations: program.threads.map(\.count)) { omissions, bound in
            let narrower = SearchOptions.depthFirst(
                bound,
                search.mutant,
                omissions,
                faults: search.addedFaults,
                runs: 20_000
            )
            guard
                case .found(invariant, let message, let schedule, let preemptions) =
                    ExplorationProcess.explore(program, narrower)
            else { return nil }
            return Shrinker.Candidate(
                omissions: omissions,
                schedule: schedule,
                preemptions: preemptions,
                message: message
            )
        }
        return shrinker.shrink(found, bound: search.isExhaustive ? search.bound : 2)
    }
}
