// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import stress

/// The lines that exploring processes take and give.
@Suite("Exploration strings")
struct ExplorationStringTests {
    @Test("A string names program, mutant, omissions and schedule")
    func strings() throws {
        let mutants = ["a read is torn", "the reclamation thread's wake-up is lost"]
        let string = ExplorationString(
            program: "wait-notify",
            mutant: "the reclamation thread's wake-up is lost",
            omissions: try #require(Omissions(text: "a0c1")),
            schedule: Schedule([0, 1])
        )
        var faulty = string
        faulty.faults = [.noThread, .exit]
        #expect(faulty.text == "wait-notify+no-thread+exit:the-reclamation-threads-wakeup-is-lost:a0c1:a1b1")
        #expect(ExplorationString(text: faulty.text, mutants: mutants) == faulty)
        #expect(string.text == "wait-notify:the-reclamation-threads-wakeup-is-lost:a0c1:a1b1")
        #expect(ExplorationString(text: string.text, mutants: mutants) == string)
        for text in [
            "", "a:none:none", "p:none:none:a1:x", "p+x:none:none:a1", "p+:none:none:a1", "p:no-such-mutant:none:a1",
            ":none:none:a1", "p:none:a:a1",
        ] {
            #expect(ExplorationString(text: text, mutants: mutants) == nil, "\(text)")
        }
    }

    @Test("A verdict that an exploring process writes is read as it was meant")
    func verdicts() {
        let verdicts: [ExplorationVerdict] = [
            .explored(runs: 12, isComplete: true), .diverged("so"),
            .found(invariant: "P1.x", message: "a b", schedule: Schedule([0, 1]), preemptions: 2),
        ]
        for verdict in verdicts { #expect(ExplorationVerdict(line: verdict.line) == verdict) }
        let crash = ExplorationVerdict.crashLine
        #expect(
            ExplorationVerdict(line: "\(crash.0)11\(crash.1)a2b1r1\(crash.2)1\(crash.3)")
                == .found(invariant: "crash", message: "signal 11", schedule: Schedule([0, 0, 1, 8]), preemptions: 1)
        )
        #expect(ExplorationVerdict(line: "") == nil)
        #expect(ExplorationVerdict(line: #"{"explored":{"runs":"x"}}"#) == nil)
    }
}
