// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import StressKit

/// Tests that run rounds: they share the process's threads under test, so one after the other.
@Suite("Rounds", .serialized)
enum Rounds {}

extension Rounds {
    @Suite("Runner")
    struct RunnerTests {}

    @Suite("Workload")
    struct WorkloadTests {}

    @Suite("Records")
    struct RecordTests {}

    @Suite("Stress in a test")
    struct StressTests {}

    @Suite("Histories in a test")
    struct LinearizableTests {}
}

/// Tests that the harness keeps no objects of the rounds that it has run.
extension Rounds.RunnerTests {
    @Test("A round that is over is gone, and its workers with it")
    func nothingIsKept() {
        let rounds = Guarded<[WeakRound]>([])
        let scenario = Scenario(name: "test", summary: "", invariants: [], windows: []) { round in
            rounds.withLock { $0.append(WeakRound(round)) }
            round.load { worker in worker.begin("step") }
        }
        _ = Runner(plan: .test([scenario], iterations: 3), progress: .silent).run()
        #expect(rounds.withLock { $0.count } == 3)
        #expect(rounds.withLock { $0.allSatisfy { $0.round == nil } })
    }

    private struct WeakRound: Sendable {
        weak let round: Round?
        init(_ round: Round) { self.round = round }
    }
}

extension ProgressLine {
    static var silent: ProgressLine { ProgressLine(RunHost(), total: .zero, isQuiet: true) }
}

extension RunPlan {
    /// A plan for scenarios of the tests' own, in short rounds.
    static func test(
        _ scenarios: [Scenario],
        iterations: Int,
        seed: UInt64 = 1,
        perturbations: PerturbationKinds = []
    ) -> RunPlan {
        RunPlan(
            scenarios: scenarios,
            duration: .zero,
            iterations: iterations,
            threads: 2,
            seed: seed,
            perturbations: perturbations,
            roundLength: .milliseconds(20),
            host: RunHost { "again \($0) \($1)" }
        )
    }
}

/// Tests that a worker draws the same workload, whatever delays it.
extension Rounds.WorkloadTests {
    @Test("The same seed draws the same workload, however threads are delayed; another seed another")
    func reproducible() {
        let calm = workload(seed: 7, [])
        #expect(calm.allSatisfy { $0.count == 500 } && calm[0] != calm[1])
        // Thousands of numbers say nothing: only the outcome is shown.
        let (isSame, isAnother) = (workload(seed: 7, .all) == calm, workload(seed: 8, []) != calm)
        #expect(isSame && isAnother)
    }

    @Test("A crowd has three times as many threads, but not where a bound is held against the clock")
    func crowd() {
        #expect(threads(.crowd) == 6)
        #expect(threads(.crowd, excluding: .crowd) == 2)
        #expect(threads([]) == 2)
    }

    /// Returns the first 500 random numbers of each of two workers.
    private func workload(seed: UInt64, _ kinds: PerturbationKinds) -> [[UInt64]] {
        let perturbation = Perturbation(kinds)
        perturbation.prepare(seed: seed, threads: 2)
        let round = Round(
            scenario: Scenario(name: "test", summary: "", invariants: [], windows: []) { _ in },
            seed: seed,
            threads: 2,
            duration: .zero,
            perturbation: perturbation,
            violations: Violations(scenario: "test", seed: seed)
        )
        let drawn = Guarded([[UInt64]](repeating: [], count: 2))
        concurrently(2) { index in
            let worker = Worker(index: index, round: round)
            worker.attach {
                perturbation.threadStarted(worker)
                let numbers = (0..<500).map { _ in
                    worker.begin("draw")
                    return worker.generator.next()
                }
                drawn.withLock { $0[index] = numbers }
            }
        }
        return drawn.withLock { $0 }
    }

    /// Returns the number of threads of a round that would have two.
    private func threads(_ kinds: PerturbationKinds, excluding excluded: PerturbationKinds = []) -> Int {
        let found = Guarded(0)
        let scenario = Scenario(name: "test", summary: "", invariants: [], windows: [], excluded: excluded) { round in
            found.withLock { $0 = round.threads }
        }
        _ = Runner(plan: .test([scenario], iterations: 1, perturbations: kinds), progress: .silent).run()
        return found.withLock { $0 }
    }
}
