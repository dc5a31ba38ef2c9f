// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import mutants

@Suite("The tests, run with one bug at a time", .timeLimit(.minutes(2)))
struct MutantRunTests {
    /// Runs the script as a package's tests with these bugs.
    private func report(_ bugs: [String], limit: Double = 60, script: String) throws -> MutantRun.Report {
        let toy = try ToyPackage(edits: bugs.map { "bug elsewhere: \($0)" }.joined(separator: "\n"))
        try toy.write("check.sh", script)
        let seeded = try toy.seeded()
        return try MutantRun(seeded, command: ["bash", "check.sh"], limit: limit).run(seeded.bugs)
    }

    @Test("A bug is found by a test, by a crash or by an exit code; it survives, or it hangs")
    func verdicts() throws {
        let report = try report(
            ["found", "twice", "crashed", "refused", "missed", "stuck"],
            limit: 3,
            script: """
                case ${SEEDED_BUG:-} in
                found) echo '✘ Test "It adds" failed after 0.001 seconds with 1 issue.'; exit 1 ;;
                twice)
                    echo "✘ Test adds(to:) with 3 test cases failed after 0.001 seconds with 2 issues."
                    echo "Test Case 'ToyTests.testAdding' failed (0.1 seconds)"
                    exit 1 ;;
                crashed) echo '◇ Test adds() started.'; echo '◇ Test other() started.'; echo '✔ Test other() passed after 1 s.'; kill -SEGV $$ ;;
                refused) exit 3 ;;
                stuck) sleep 600 & wait ;;
                esac
                """
        )
        #expect(report.controlPasses && !report.isGood)
        #expect(report.bugs.map(\.verdict) == [.found, .found, .found, .found, .survived, .hung])
        #expect(
            report.bugs.map(\.foundBy) == [
                ["\"It adds\""], ["adds(to:)", "ToyTests.testAdding"], ["a crash in adds()"], ["exit code 3"], [], [],
            ]
        )
    }

    @Test("Tests that fail without a bug prove nothing: no bug is tried")
    func control() throws {
        let report = try report(["found"], script: "exit 1")
        #expect(!report.controlPasses && report.bugs.isEmpty && !report.isGood)
        #expect(try self.report(["found"], script: "exit ${SEEDED_BUG:+1}").isGood)
    }

    @Test("Each bug has the filter of its tests; the control has those of all bugs")
    func filters() throws {
        let toy = try ToyPackage(edits: "bug elsewhere: a\nfound by One\nbug elsewhere: b\nfound by Two|Three")
        try toy.write("check.sh", "echo \"$SEEDED_BUG $*\" >>seen; exit ${SEEDED_BUG:+1}")
        let seeded = try toy.seeded()
        #expect(try MutantRun(seeded, command: ["bash", "check.sh"]).run(seeded.bugs).isGood)
        #expect(toy.copied("seen") == " --filter One|Two|Three\na --filter One\nb --filter Two|Three\n")
    }

    @Test("Tests that a filter leaves out have not passed")
    func nothing() {
        #expect(MutantRun.hasRunNothing("warning: No matching test cases were run"))
        #expect(MutantRun.hasRunNothing("Executed 0 tests\n✔ Test run with 0 tests in 0 suites passed"))
        #expect(!MutantRun.hasRunNothing("Executed 2 tests\n✔ Test run with 0 tests in 0 suites passed"))
        #expect(!MutantRun.hasRunNothing("✔ Test run with 3 tests in 1 suite passed"))
    }
}
