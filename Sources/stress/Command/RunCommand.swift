// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

/// Runs scenarios and prints one table.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run scenarios; without names, all of them."
    )

    @Argument(help: "Scenarios, as `stress list` names them.")
    var scenario: [String] = []

    @Option(
        help: "How long the whole run takes, divided among the scenarios. \(DurationArgument.help)",
        transform: DurationArgument.init(parsing:)
    )
    var duration: DurationArgument?

    @Option(help: "Rounds for each scenario, instead of a duration.")
    var iterations: Int?

    @Option(
        help: "How long the threads run between two rests; without it, 400ms. \(DurationArgument.help)",
        transform: DurationArgument.init(parsing:)
    )
    var round: DurationArgument?

    @Option(help: "Threads under test.")
    var threads: Int = usualThreads

    @Option(help: "Reproduces workload and delays, not the operating system's schedule.")
    var seed: UInt64 = UInt64.random(in: 1...999_999_999)

    @Option(help: "A duration in one word: smoke is 10s, ci 90s, soak 10m with all scenarios, round by round.")
    var profile: Profile = .smoke

    @Option(
        help: """
            A list as in yield,stall,fork; or none. Delays: yield, stall, affinity, stutter, starve, long, crowd, rotate; all is \
            every one. Faults: fork, no-thread, late-barrier, fail-barrier, slow-deinit, stuck-deinit; faults is every one. \
            (default: \(PerturbationArgument.usual))
            """,
        transform: PerturbationArgument.init(parsing:)
    )
    var perturb: PerturbationArgument = .usual

    @Flag(help: "Stop at the first scenario that does not pass.")
    var failFast = false

    @Flag(help: "Run as on a kernel without membarrier.")
    var withoutMembarrier = false

    @OptionGroup(title: "Reports")
    var files: ReportFiles

    #if INSTRUMENTED
    @Option(help: .hidden, transform: SeededBug.init(parsing:))
    var mutant: SeededBug?

    @Option(help: .hidden)
    var hot: String?
    #endif

    mutating func validate() throws {
        _ = try scenarios(named: scenario)
        guard (1...4096).contains(threads) else { throw ValidationError("--threads takes 1 to 4096, not \(threads)") }
        if let iterations, iterations < 1 { throw ValidationError("--iterations takes 1 or more, not \(iterations)") }
        if iterations != nil, duration != nil {
            throw ValidationError("--iterations and --duration exclude each other")
        }
        #if INSTRUMENTED
        if let hot, !Instrumentation.points.contains(where: { $0.description == hot }) {
            throw ValidationError("unknown injection point '\(hot)'")
        }
        #endif
    }

    func run() throws {
        #if INSTRUMENTED
        WaitInVain.begin(hasSeededBug: mutant != nil)
        #else
        WaitInVain.begin()
        #endif
        if withoutMembarrier { MembarrierDenial.enforce() }
        if profile == .soak { FrugalAllocator.enforce() }
        var plan = RunPlan(
            scenarios: try scenarios(named: scenario),
            duration: duration?.duration ?? profile.duration,
            iterations: iterations,
            threads: threads,
            seed: seed,
            perturbations: perturb.kinds,
            stopsAtFirstFailure: failFast,
            alternates: profile == .soak,
            host: .stress
        )
        if let round { plan.roundLength = round.duration }
        CrashReport.install(seed: seed)
        #if INSTRUMENTED
        plan.fixedPoint = hot
        if Sanitizer.current != nil { unsafe Instrumentation.quarantineLength = 0 }
        unsafe Instrumentation.mutant = mutant
        #endif
        print(
            "stress: \(LibraryBuild.name) build, \(threads) threads, seed \(seed) (workload and delays, not the schedule)"
        )
        let texts = LibraryBuild.facts.prefix(2).map(\.text).joined(separator: "; ")
        print("stress: \(texts)\(LibraryBuild.usesMembarrier ? "" : "; without membarrier")")
        fflush(nil)
        if plan.alternates { ProbePool.shared.touch() }
        let files = files
        let save: @Sendable (Report) -> Void = { files.write(CommandReport($0)) }
        let recorder = RunRecorder(plan, save: files.isEmpty ? nil : save)
        let progress = ProgressLine(plan.host, total: iterations == nil ? plan.duration : .zero)
        let exit = Runner(plan: plan, progress: progress, recorder: recorder).run().exit
        print(RunReport.text(recorder.write(ending: exit)))
        if !plan.perturbations.isDisjoint(with: .faults) { print("stress: faults: \(Faults.Count.text)") }
        print("stress: \(exit), seed \(seed)")
        fflush(nil)
        throw exit
    }
}
