// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Testing

@testable import StressKit

/// If a thread hangs or the process crashes, the run ends with a code and a report.
@Suite("Failures of a run")
struct FailureTests {
    @Test("A hang ends the run with its code; the dump names scenario and seed, and where each thread stands")
    func hang() async {
        let result = await #expect(processExitsWith: .exitCode(5), observing: [\.standardErrorContent]) {
            Watchdog.shared.setPatience(.seconds(3))
            run("hanging", seed: 77) { worker in
                worker.begin("go on")
                guard worker.index == 1 else { return }
                worker.note("callback", 1 << 40 | 3)
                worker.begin("wait for nothing")
                DispatchSemaphore(value: 0).wait()
            }
        }
        let report = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(report.contains("HANG hanging: seed 77; a thread made no step for 3 s"))
        #expect(report.contains(/thread 0: \d+ operations, at go on, depth 0/))
        #expect(report.contains("thread 1: 2 operations, at wait for nothing, depth 0"))
        #expect(report.contains(/go on 1[\s\S]*callback, closure 3 of thread 0[\s\S]*wait for nothing 2/))
        #expect(report.contains("library: the host's words"))
    }

    @Test("A round that hangs after its load ends the run, too")
    func hangAtRest() async {
        let result = await #expect(processExitsWith: .exitCode(5), observing: [\.standardErrorContent]) {
            Watchdog.shared.setPatience(.seconds(3))
            let scenario = Scenario(name: "resting", summary: "", invariants: [], windows: []) { round in
                round.load { $0.begin("go on") }
                DispatchSemaphore(value: 0).wait()
            }
            _ = Runner(plan: .test([scenario], iterations: 1, seed: 79), progress: .silent).run()
        }
        let report = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(report.contains("HANG resting: seed 79; the round made no check for 3 s"))
    }

    @Test(
        "A crash ends the run with its code; the report names signal, scenario and seed, and the thread's last events"
    )
    func crash() async {
        let result = await #expect(processExitsWith: .exitCode(7), observing: [\.standardErrorContent]) {
            CrashReport.install(seed: 78)
            run("crashing", seed: 78) { worker in
                worker.begin("go on")
                guard worker.index == 1 else { return }
                worker.begin("go too far")
                raise(SIGSEGV)
            }
        }
        let report = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(report.contains("CRASH: signal SIGSEGV, scenario crashing, seed 78"))
        #expect(report.contains("the crashed thread's last events:\n    go on\n    go too far\n"))
    }
}

/// Runs one round in which two threads call `body` again and again, for longer than either way of
/// ending takes on a busy machine.
private func run(_ name: String, seed: UInt64, _ body: @escaping @Sendable (Worker) -> Void) {
    let scenario = Scenario(name: name, summary: "", invariants: [], windows: []) { round in round.load(body) }
    var plan = RunPlan.test([scenario], iterations: 1, seed: seed)
    plan.roundLength = .seconds(60)
    plan.host.dump = { "the host's words" }
    _ = Runner(plan: plan, progress: .silent).run()
}
