// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
import Foundation

/// One program explored, and the failure, if there was one, made small.
struct ExplorationReport {
    let text: String
    let exit: StressExit
    /// The invariant that did not hold, if any.
    let invariant: String?
    /// What `stress replay` takes.
    let string: String?

    /// Explores in a process of its own, so that a failure leaves nothing behind, and shrinks what it finds.
    init(_ program: LibraryProgram, _ search: SearchOptions, isShrinking: Bool = true) throws {
        let start = nanoseconds()
        func seconds() -> String { "\((Double(nanoseconds() - start) / 1e8).rounded() / 10) s" }
        let verdict = try Self.work(program, search)
        switch verdict {
        case .explored(let runs, let isComplete):
            let all = search.isExhaustive && !isComplete ? "more" : "\(runs)"
            text = "\(program.name): explored \(runs)/\(all), \(seconds()), nothing found"
            (exit, invariant, string) = (.pass, nil, nil)
        case .diverged(let message):
            text = "\(program.name): HARNESS ERROR: \(message)"
            (exit, invariant, string) = (.harnessError, nil, nil)
        case .found(let name, let message, let schedule, let preemptions):
            var found = Shrinker.Candidate(
                omissions: Omissions(),
                schedule: schedule,
                preemptions: preemptions,
                message: message
            )
            let foundAfter = seconds()
            if isShrinking { found = Self.shrink(found, name, program, search) }
            let string = ExplorationString(
                program: program.name,
                mutant: search.mutant,
                omissions: found.omissions,
                schedule: found.schedule
            ).text
            var lines = ["\(program.name): VIOLATION \(name): \(found.message)"]
            if isShrinking {
                lines.append(
                    "found after \(foundAfter), \(found.schedule.steps.count) steps with \(found.preemptions) preemptions after \(seconds())"
                )
                lines.append(Self.columns(string))
            }
            lines.append("stress replay '\(string)'")
            text = lines.joined(separator: "\n")
            (exit, invariant, self.string) = (name == "crash" ? .crash : .violated, name, string)
        }
    }

    private static func shrink(
        _ found: Shrinker.Candidate,
        _ invariant: String,
        _ program: LibraryProgram,
        _ search: SearchOptions
    ) -> Shrinker.Candidate {
        let shrinker = Shrinker(operations: program.threads.map(\.count)) { omissions, bound in
            var narrower = SearchOptions.bounded(bound, mutant: search.mutant)
            narrower.omit = omissions.text
            narrower.runs = 20_000
            guard case .found(invariant, let message, let schedule, let preemptions) = try? work(program, narrower) else {
                return nil
            }
            return Shrinker.Candidate(
                omissions: omissions,
                schedule: schedule,
                preemptions: preemptions,
                message: message
            )
        }
        return shrinker.shrink(found, bound: search.isExhaustive ? search.bound : 2)
    }

    private static func work(_ program: LibraryProgram, _ search: SearchOptions) throws -> ExplorationWorker.Verdict {
        let output = try run(["explore", program.name, "--worker"] + search.arguments)
        let lines = output.split(separator: "\n")
        guard let verdict = lines.last.flatMap({ ExplorationWorker.Verdict(line: String($0)) }) else {
            harnessFailure("the exploring process says nothing of use: \(output)")
        }
        return verdict
    }

    private static func columns(_ string: String) -> String {
        let output = (try? run(["replay", string])) ?? ""
        return output.split(separator: "\n").filter { !$0.hasPrefix("stress:") && !$0.hasPrefix("VIOLATION") }
            .joined(separator: "\n")
    }

    private static func run(_ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return output
    }
}

extension SearchOptions {
    static func bounded(_ bound: Int, mutant: String?) -> SearchOptions {
        var arguments = ["--bound", "\(bound)"]
        if let mutant { arguments += ["--mutant", mutant] }
        return try! SearchOptions.parse(arguments)
    }

    /// The same on a command line.
    fileprivate var arguments: [String] {
        var arguments = ["--bound", "\(bound)", "--seed", "\(seed)", "--omit", omit]
        if let pct { arguments += ["--pct", "\(pct)"] }
        if random { arguments.append("--random") }
        if roundRobin { arguments.append("--round-robin") }
        if let runs { arguments += ["--runs", "\(runs)"] }
        if let mutant { arguments += ["--mutant", mutant] }
        return arguments
    }
}
#endif
