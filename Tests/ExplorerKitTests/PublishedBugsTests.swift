// SPDX-License-Identifier: Apache-2.0

import ExplorerKit
import Testing

/// Ten bugs that others have published: the explorer finds each, and nothing once it is repaired.
@Suite("Published bugs")
struct PublishedBugsTests {
    @Test("Each is found and replayed, and its repair passes", arguments: PublishedBug.all)
    func found(bug: PublishedBug) throws {
        var failure: ExplorationFailure?
        let time = ContinuousClock().measure {
            failure = #expect(throws: ExplorationFailure.self) { try explore { bug.program($0, false) } }
        }
        let found = try #require(failure)
        #expect(found.kind == bug.kind, "\(found)")
        let again = #expect(throws: ExplorationFailure.self) {
            try explore(.replay(found.schedule)) { bug.program($0, false) }
        }
        #expect(again?.message == found.message)
        let repaired = try explore { bug.program($0, true) }
        print(
            "| \(bug.source) | \(bug.name) | \(found.kind.rawValue) | \(found.preemptions) | \(found.schedules)"
                + " | \(time.formatted) | \(repaired.schedules) |"
        )
    }

    @Test("How many schedules of two threads with three steps run in a second")
    func speed() throws {
        let runs = 20_000
        let time = try ContinuousClock().measure {
            try explore(.random(schedules: runs)) { run in
                for name in ["first", "second"] { run.thread(name) { for _ in 0..<3 { exploredStep("step") } } }
            }
        }
        print("schedules a second: \(Int(Double(runs) / (time / .seconds(1))))")
    }
}

extension Duration {
    fileprivate var formatted: String { "\((self / .milliseconds(1) * 10).rounded() / 10) ms" }
}
