// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

// StressKit for a test target. `stress(…)` puts your own code under load on real threads, and
// throws an error if it finds a violation; `linearizable(…)` judges short histories of one object.
//
// - A round makes fresh objects, loads them with threads (`Round.load`), and checks at rest
//   (`Round.check`). Rounds follow one another until the time is over.
// - A thread of the load is a `Worker`. It says which operation it begins, draws from a generator
//   of its own, and checks invariants. Its counts are its own, so the harness adds no ordering
//   between your threads.
// - A window is an event without which a pass means nothing, such as "a read found an entry that
//   was being removed". A run that never hit one of its windows fails.
// - Delays disturb the threads where operations begin, and at `stressPoint(_:)` in your code.
// - The seed determines each worker's numbers and where delays are likely. It does not determine
//   the schedule of the operating system: a failure occurs again soon, but not at once.

/// Puts your code under load on real threads until the time is over, and checks your invariants.
///
/// Call it in a test of swift-testing or XCTest. It blocks the calling thread. Calls at the same
/// time wait for each other: threads of two loads would disturb each other's races. A call inside
/// a round traps.
///
/// ```swift
/// @Test func cacheIsBounded() throws {
///     try stress(threads: 8, for: .seconds(5), windows: ["hit", "miss"]) { round in
///         let cache = Cache(limit: 10)
///         round.load { worker in
///             worker.begin("read")
///             let key = worker.random(below: 20)
///             worker.hit(cache[key] == nil ? "miss" : "hit")
///             cache[key] = key
///         }
///         round.check(cache.count <= 10, "cache.bounded", "\(cache.count) entries")
///     }
/// }
/// ```
///
/// If a thread begins no operation for the time `patience`, or the closure of the round makes no
/// check for that time outside a load, the process ends with exit code 5, because a thread that
/// hangs cannot be stopped. Standard error then shows the step of each thread, and the invariants
/// that were violated before. A crash is reported with the run's name, the seed and the thread's
/// last events.
///
/// If the environment has `STRESS_REPORT=FILE`, all calls of the process write their results to
/// that file. Its ending decides the format: a page (`html`), JUnit's format (`xml`), or `json`.
///
/// - Parameters:
///   - name: The run's name in messages and reports.
///   - threads: The number of threads of a load without roles. By default three for each processor.
///   - duration: The time for which rounds are run. If a window was not hit by then, rounds
///     continue until all are hit, but at most for twice that time.
///   - roundLength: The time of a round's load.
///   - seed: Determines the workload. By default the environment's `STRESS_SEED`, else a new one.
///   - windows: The events that must happen; see ``Worker/hit(_:)``.
///   - perturbations: The delays that disturb the threads. With `crowd` each fourth round has three
///     times as many threads.
///   - patience: The longest time of a thread without a step, and of the closure outside a load
///     without a check.
///   - round: Makes the objects, loads them, and checks them at rest. Runs on the calling thread.
/// - Returns: The counts of the run.
/// - Throws: ``StressFailure`` with the first violation of each invariant, or the windows that were
///   not hit. It also throws if no operation and no check was made.
/// - Precondition: `threads` and the durations are greater than zero, and no window is named twice.
@discardableResult
public func stress(
    _ name: String = #function,
    threads: Int? = nil,
    for duration: Duration = .seconds(5),
    roundLength: Duration = .milliseconds(100),
    seed: UInt64? = nil,
    windows: [String] = [],
    perturbations: PerturbationKinds = .all,
    patience: Duration = .seconds(40),
    _ round: @escaping @Sendable (Round) -> Void
) throws -> StressSummary {
    let scenario = Scenario(name: name, summary: "", invariants: [], windows: windows, leastThreads: 1, run: round)
    precondition(threads ?? 1 > 0, "a load has one thread or more")
    precondition(duration > .zero && roundLength > .zero && patience > .zero, "durations are greater than zero")
    precondition(Set(windows).count == windows.count, "each window has a name of its own")
    var host = RunHost { "STRESS_SEED=\($1) swift test" }
    host.isQuiet = true
    var plan = RunPlan(
        scenarios: [scenario],
        duration: duration,
        threads: threads ?? usualThreads,
        seed: seed ?? Environment.seed,
        perturbations: perturbations.isDisjoint(with: [.yield, .stall]) ? perturbations : perturbations.union(.steps),
        roundLength: roundLength,
        host: host
    )
    (plan.crowdInterval, plan.lastCall) = (4, duration * 2)
    let perturbation = Perturbation(plan.perturbations)
    plan.host.perturbation = { _ in perturbation }
    return try OneRun.shared.take {
        Watchdog.shared.setPatience(patience)
        let recorder = RunRecorder(plan, save: Environment.save)
        let runner = Runner(
            plan: plan,
            progress: ProgressLine(plan.host, total: .zero, isQuiet: true),
            recorder: recorder
        )
        let outcome = CrashReport.during(name, seed: plan.seed) {
            UserPoints.withPoints(of: perturbation) { runner.run() }
        }
        Environment.keep(recorder.write(ending: outcome.exit))
        let result = outcome.results[0]
        let didNothing = result.operations == 0 && result.checks == 0
        guard result.verdict == .pass, !didNothing else { throw StressFailure(result, plan) }
        return StressSummary(result, seed: plan.seed)
    }
}

/// The counts of a stress run.
public struct StressSummary: Sendable {
    /// The seed with which the workload was chosen.
    public let seed: UInt64
    /// The number of rounds.
    public let rounds: Int
    /// The number of operations that workers have begun.
    public let operations: UInt64
    /// The number of checks that workers made, or that were made at rest.
    public let checks: UInt64
    /// The number of times that each window was hit.
    public let windows: [String: UInt64]
    /// The durations that workers have recorded, by name.
    public let latencies: [String: Histogram]

    init(_ result: ScenarioResult, seed: UInt64) {
        (self.seed, rounds, operations, checks) = (seed, result.rounds, result.operations, result.checks)
        windows = Dictionary(result.windows.map { ($0.name, $0.hits) }) { $1 }
        latencies = Dictionary(result.latencies.map { ($0.name, $0.histogram) }) { $1 }
    }
}

/// Thrown if a stress run found a violation, or shows nothing. Its description has all that the
/// reader of a test log needs.
public struct StressFailure: Error, CustomStringConvertible {
    /// The first violation of each invariant; empty if only windows were missed.
    public let violations: [Violation]
    /// The windows that were never hit.
    public let missedWindows: [String]
    /// The seed with which the workload was chosen.
    public let seed: UInt64
    public let description: String

    init(_ result: ScenarioResult, _ plan: RunPlan) {
        (violations, missedWindows, seed) = (result.violations, result.missedWindows, plan.seed)
        let name = result.scenario.name
        guard !violations.isEmpty else {
            let (fact, names) =
                missedWindows.isEmpty
                ? ("no operation and no check", "") : ("never hit", ": \(missedWindows.joined(separator: "; "))")
            description = """
                \(name) proves nothing: \(fact) in \(result.rounds) rounds\(names)
                  seed \(seed): `\(plan.host.command(name, seed))` draws the same workload
                """
            return
        }
        var lines = violations.map { violation in
            let place = violation.thread.map { " (thread \($0))" } ?? " (at rest)"
            return "\(violation.invariant) is violated\(place): \(violation.message)"
        }
        lines.append("  \(name): in round \(result.rounds), \(result.violationCount) violations")
        lines.append(violations[0].circumstances)
        description = lines.joined(separator: "\n")
    }
}

/// Lets the process have only one run at a time.
final class OneRun: Sendable {
    static let shared = OneRun()
    private let lock = Guarded(())
    /// The number of the thread that runs. Relaxed: a thread only looks for its own number.
    private let owner = Atomic<UInt>(0)

    func take<Result>(_ body: () throws -> Result) rethrows -> Result {
        let own = threadNumber()
        precondition(
            owner.load(ordering: .relaxed) != own && Worker.current == nil,
            "a stress run inside another: end the first one before"
        )
        return try lock.withLock { _ in
            owner.store(own, ordering: .relaxed)
            defer { owner.store(0, ordering: .relaxed) }
            return try body()
        }
    }
}

/// The settings for runs in tests, from the environment.
enum Environment {
    /// The seed in the environment, or a new one.
    static var seed: UInt64 {
        guard let text = ProcessInfo.processInfo.environment["STRESS_SEED"], !text.isEmpty else {
            return .random(in: 1...999_999_999)
        }
        guard let seed = UInt64(text) else { harnessFailure("STRESS_SEED is a number, not '\(text)'") }
        return seed
    }

    private static let finished = Guarded<[Report]>([])

    /// Keeps the final results of a call.
    static func keep(_ report: Report) { finished.withLock { $0.append(report) } }

    /// Writes the results of the process so far, if the environment asks for a report; nil if it
    /// does not.
    static var save: (@Sendable (Report) -> Void)? {
        guard let path = ProcessInfo.processInfo.environment["STRESS_REPORT"] else { return nil }
        return { report in
            let all = Report(merging: finished.withLock { $0 } + [report])
            do {
                let data =
                    switch path.split(separator: ".").last {
                    case "json": try all.json
                    case "xml": Data(JUnitReport.text(all).utf8)
                    default: Data(HTMLReport.text(all).utf8)
                    }
                try data.write(to: URL(fileURLWithPath: path))
            } catch {
                // A failure to write the report must not hide the run's own result.
                StandardError.print("StressKit: STRESS_REPORT cannot be written: \(error.localizedDescription)")
            }
        }
    }
}
