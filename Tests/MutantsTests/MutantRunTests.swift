// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import mutants

@Suite("The tests, run with one bug at a time", .timeLimit(.minutes(2)))
struct MutantRunTests {
    /// Runs the script as a package's tests with these bugs. Returns the report.
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

    @Test("A process whose parent is gone holds up no verdict, and runs no longer after it")
    func detached() throws {
        let name = "detached \(UUID().uuidString)"
        let report = try report(
            ["orphan", "session", "pipe", "bare"].map { "\(name) \($0)" },
            limit: 3,
            script: """
                case ${SEEDED_BUG:-} in
                *orphan) (sleep 600 & ) ; kill -SEGV $$ ;;
                *session) setsid bash -c 'sleep 600 & wait' & kill -SEGV $$ ;;
                *pipe) text=$(setsid sleep 600 & ); exit 3 ;;
                *bare) (setsid bash -c 'env -i sleep 600; true' & ); exit 3 ;;
                esac
                """
        )
        #expect(report.bugs.map(\.foundBy) == [["a crash"], ["a crash"], ["exit code 3"], ["exit code 3"]])
        #expect(ProcessTree.processes(with: name).isEmpty)
    }

    @Test("A command ends with `mutants`, and so does all that it has started", arguments: [SIGINT, SIGTERM])
    func interrupted(signal: Int32) async throws {
        let name = "interrupted \(UUID().uuidString)"
        await #expect(processExitsWith: .exitCode(128 + signal)) { [name = name as String, signal] in
            Interruption.endTheCommandsToo()
            let log = FileManager.default.temporaryDirectory.path + "/\(UUID().uuidString).log"
            DispatchQueue.global().async {
                while (try? String(contentsOfFile: log, encoding: .utf8)) != "started\n" { usleep(1_000) }
                try? FileManager.default.removeItem(atPath: log)
                kill(getpid(), signal)
            }
            let script = "(setsid sleep 600 & ); sleep 600 & echo started; wait"
            _ = try Command(arguments: ["bash", "-c", script], folder: "/").run(bug: name, limit: 60, log: log)
        }
        #expect(ProcessTree.processes(with: name).isEmpty)
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

    @Test("A result that cannot be written is refused before anything runs")
    func json() throws {
        func parse(_ json: String) throws { _ = try Mutants.parse(["--edits", "B", "--json", json, "--", "true"]) }
        #expect(throws: (any Error).self) { try parse("/none/a.json") }
        try parse(FileManager.default.temporaryDirectory.path + "/a.json")
        try parse("a.json")
    }

    @Test("Tests that a filter leaves out have not passed")
    func nothing() {
        #expect(MutantRun.hasRunNothing("warning: No matching test cases were run"))
        #expect(MutantRun.hasRunNothing("Executed 0 tests\n✔ Test run with 0 tests in 0 suites passed"))
        #expect(!MutantRun.hasRunNothing("Executed 2 tests\n✔ Test run with 0 tests in 0 suites passed"))
        #expect(!MutantRun.hasRunNothing("✔ Test run with 3 tests in 1 suite passed"))
    }
}
