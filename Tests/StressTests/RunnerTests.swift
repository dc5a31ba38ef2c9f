// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import stress_product

/// What the harness itself promises: it keeps nothing of what it has run.
@Suite("Runner", .serialized)
struct RunnerTests {
    @Test("An epoch that is over is gone, and its lanes with it")
    func nothingIsKept() {
        let epochs = Guarded<[WeakEpoch]>([])
        let scenario = Scenario(name: "test", summary: "", invariants: [], windows: []) { epoch in
            epochs.withLock { $0.append(WeakEpoch(epoch)) }
            epoch.load { lane in lane.begin("step") }
        }
        _ = Runner(plan: .test([scenario], iterations: 3), progress: .silent).run()
        #expect(epochs.withLock { $0.count } == 3)
        #expect(epochs.withLock { $0.allSatisfy { $0.epoch == nil } })
    }

    private struct WeakEpoch: Sendable {
        weak let epoch: Epoch?
        init(_ epoch: Epoch) { self.epoch = epoch }
    }
}

extension Progress {
    static var silent: Progress { Progress(total: .zero, isQuiet: true) }
}

extension RunPlan {
    /// A plan for scenarios of the tests' own, in short epochs.
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
            stopsAtFirstFailure: false,
            epochLength: .milliseconds(20)
        )
    }
}
