// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Runs one scenario in its own process, with a seeded bug or without one.
struct ChildRun {
    let scenario: String
    let bug: SeededBug?
    let point: StaticString?
    let isPerturbed: Bool
    let faults: PerturbationKinds
    let seed: UInt64
    let budget: Duration

    struct Outcome {
        let exit: Int32
        /// Whether a signal has ended it.
        let wasKilled: Bool
        /// Whether that was this process's signal, after the longest time.
        let wasStopped: Bool
        var seconds: Double
        /// The number of seconds until something was found, without waits that ended without an
        /// event.
        var secondsToFind: Double
        let output: String
        /// The signal that has ended it; nil if there was none, or if it is not known.
        let signal: String?

        /// Whether nothing was found.
        var isClean: Bool { exit == 0 && !wasKilled && !output.contains("Sanitizer:") }
    }

    /// Makes a run of the scenario without a bug.
    init(control scenario: String, seed: UInt64, budget: Duration) {
        (self.scenario, self.seed, self.budget) = (scenario, seed, budget)
        (bug, point, isPerturbed, faults) = (nil, nil, true, [])
    }

    init(_ mutant: Mutant, seed: UInt64, budget: Duration) {
        (scenario, self.seed, self.budget) = (mutant.scenario, seed, budget)
        (bug, point, isPerturbed) = (mutant.bug, mutant.point, mutant.isPerturbed)
        faults = mutant.faults
    }

    func run() throws -> Outcome {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        var arguments = [
            "run", scenario, "--seed", "\(seed)", "--duration", "\(Int(budget.seconds * 1000))ms", "--fail-fast",
        ]
        if let bug { arguments += ["--mutant", bug.rawValue] }
        if !isPerturbed { arguments += ["--perturb", "none"] }
        if !faults.isEmpty {
            let kinds = PerturbationArgument.usual.kinds.union(faults)
            arguments += ["--perturb", kinds.list.joined(separator: ",")]
        }
        if let point { arguments += ["--hot", point.description] }
        process.arguments = arguments
        var environment = ProcessInfo.processInfo.environment
        // The first report is enough.
        environment["TSAN_OPTIONS", default: ""] += " halt_on_error=1"
        // Many of these bugs cause a crash, and its signal is enough. The tool that prints the
        // place of a crash might wait forever.
        environment["SWIFT_BACKTRACE"] = "enable=no"
        process.environment = environment
        let start = nanoseconds()
        let pipe = try Self.starting.withLock { _ in
            // Children start one at a time. Otherwise a child could inherit the end of another
            // one's pipe, which would then stay open until both have ended.
            let pipe = Pipe()
            process.standardOutput = pipe
            process.standardError = pipe
            try process.run()
            return pipe
        }
        // The child's watchdog is sooner.
        let longest = budget.seconds + 90
        let limit = DispatchWorkItem { process.terminate() }
        DispatchQueue.global().asyncAfter(deadline: .now() + longest, execute: limit)
        var output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        limit.cancel()
        let wasKilled = process.terminationReason == .uncaughtSignal
        let wasStopped = wasKilled && process.terminationStatus == SIGTERM
        if wasStopped { output += "\nstress mutants: \(scenario) did not end within \(Int(longest)) s\n" }
        let seconds = Double(nanoseconds() - start) / 1e9
        return Outcome(
            exit: process.terminationStatus,
            wasKilled: wasKilled,
            wasStopped: wasStopped,
            seconds: seconds,
            secondsToFind: WaitInVain.secondsToFind(in: output) ?? seconds,
            output: output,
            signal: wasKilled ? "signal \(process.terminationStatus)" : Self.signal(in: output)
        )
    }

    private static let starting = Guarded(())

    /// Returns the signal that the child's own report of a crash names.
    private static func signal(in output: String) -> String? {
        output.firstMatch(of: /CRASH: signal (SIG[A-Z]+)/).map { String($0.1) }
    }
}

extension Mutant {
    /// Looks for this bug until one of its catchers reports it, or the budget is used up.
    ///
    /// A bug may first break an invariant that does not prove it. Then further seeds are tried in
    /// the remaining time. A run that finds nothing has used up the budget.
    func hunt(seed: UInt64, within budget: Duration) throws -> (catcher: Catcher?, outcome: ChildRun.Outcome) {
        let start = nanoseconds()
        let end = start + UInt64(budget.seconds * 1e9)
        var seeds = Generator(seed: seed, stream: 0)
        var outcome = try ChildRun(self, seed: seed, budget: budget).run()
        var secondsToFind = 0.0
        while true {
            secondsToFind += outcome.secondsToFind
            (outcome.seconds, outcome.secondsToFind) = (Double(nanoseconds() - start) / 1e9, secondsToFind)
            if let catcher = catchers.first(where: { $0.hasCaught(outcome) }) { return (catcher, outcome) }
            StandardError.print(outcome.output)
            guard !outcome.isClean, nanoseconds() < end else { return (nil, outcome) }
            outcome = try ChildRun(self, seed: seeds.next() >> 32, budget: budget).run()
        }
    }
}

extension Mutant.Catcher {
    /// Returns whether a run shows what this catcher looks for.
    func hasCaught(_ outcome: ChildRun.Outcome) -> Bool {
        switch self {
        case .invariant(let name): outcome.exit == StressExit.violated.rawValue && outcome.output.contains(": \(name):")
        case .crash: (outcome.wasKilled && !outcome.wasStopped) || outcome.exit == StressExit.crash.rawValue
        case .hang: outcome.exit == StressExit.hang.rawValue
        case .report(.thread): outcome.output.contains("SUMMARY: ThreadSanitizer")
        case .model, .history: false
        case .report(.address): outcome.output.contains("SUMMARY: AddressSanitizer")
        case .report(.realtime): outcome.output.contains("SUMMARY: RealtimeSanitizer")
        }
    }
}
