// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One scenario in a process of its own, with a seeded bug or without.
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
        let wasKilled: Bool
        var seconds: Double
        /// After how many of these something was found, waits in vain not counted.
        var secondsToFind: Double
        let output: String
        /// The signal that has ended it, as far as is known.
        let signal: String?

        /// Whether nothing was found.
        var isClean: Bool { exit == 0 && !wasKilled && !output.contains("Sanitizer:") }
    }

    /// The scenario as it should be.
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
        // A crash is what many of them are for: its signal is enough, and the tool that prints
        // where it was may wait for ever.
        environment["SWIFT_BACKTRACE"] = "enable=no"
        process.environment = environment
        let start = nanoseconds()
        let pipe = try Self.starting.withLock { _ in
            // One at a time: a child must not get the end of another's pipe, which would then end
            // with both.
            let pipe = Pipe()
            process.standardOutput = pipe
            process.standardError = pipe
            try process.run()
            return pipe
        }
        let limit = DispatchWorkItem { process.terminate() }
        DispatchQueue.global().asyncAfter(deadline: .now() + budget.seconds + 90, execute: limit)
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        limit.cancel()
        let wasKilled = process.terminationReason == .uncaughtSignal
        let seconds = Double(nanoseconds() - start) / 1e9
        return Outcome(
            exit: process.terminationStatus,
            wasKilled: wasKilled,
            seconds: seconds,
            secondsToFind: WaitInVain.secondsToFind(in: output) ?? seconds,
            output: output,
            signal: wasKilled ? "signal \(process.terminationStatus)" : Self.signal(in: output)
        )
    }

    private static let starting = Guarded(())

    /// The signal that the child's own report of a crash names.
    private static func signal(in output: String) -> String? {
        output.firstMatch(of: /CRASH: signal (SIG[A-Z]+)/).map { String($0.1) }
    }
}

extension Mutant {
    /// Looks for this bug until something that it names has caught it or its budget is over.
    ///
    /// A bug may first break an invariant that does not prove it. Then further seeds are tried, for
    /// the time that is left. A run in which nothing shows has used up the budget.
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
    /// Whether a run shows what this catcher looks for.
    func hasCaught(_ outcome: ChildRun.Outcome) -> Bool {
        switch self {
        case .invariant(let name): outcome.exit == StressExit.violated.rawValue && outcome.output.contains(": \(name):")
        case .crash: outcome.wasKilled || outcome.exit == StressExit.crash.rawValue
        case .hang: outcome.exit == StressExit.hang.rawValue
        case .report(.thread): outcome.output.contains("SUMMARY: ThreadSanitizer")
        case .model, .history: false
        case .report(.address): outcome.output.contains("SUMMARY: AddressSanitizer")
        case .report(.realtime): outcome.output.contains("SUMMARY: RealtimeSanitizer")
        }
    }
}
