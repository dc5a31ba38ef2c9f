// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

/// Shows which seeded bugs a package's tests find.
///
/// The command copies the package, edits the copy, builds it once, and runs the tests once without
/// a bug and once with each. It writes only to `.build/mutants` and to the file that `--json`
/// names.
@main
struct Mutants: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mutants",
        abstract: "Runs a package's tests with one seeded bug at a time, and reports which they find.",
        discussion: """
            Run it in the package's folder:
              mutants --edits Bugs -- swift test
              mutants --edits Bugs --only 'lost|twice' -- swift test --filter CacheTests
            Exit codes: 0 every bug is found, and without one the tests pass; 1 not so; 2 wrong usage, an edit \
            without its place, or the copy does not build.
            """
    )

    @Option(help: "The folder with the edits: *.txt.") var edits: String
    @Option(help: "Only the bugs whose name has this pattern.") var only: String?
    @Option(help: "Writes the result to this file, too.") var json: String?
    @Option(help: "The seconds that a run may take, instead of five times what the tests take without a bug, and 60.")
    var limit: Double?
    @Flag(help: "Finds the place of each edit, and prints the bugs with their tests. Builds nothing.") var list = false
    @Argument(parsing: .captureForPassthrough, help: "The command that runs the tests.") var command: [String] = []

    mutating func validate() throws {
        if command.first == "--" { command.removeFirst() }
        if command.isEmpty, !list { throw ValidationError("no command: mutants --edits DIR -- swift test") }
        if let json {
            let folder = URL(fileURLWithPath: json).deletingLastPathComponent().path
            if !FileManager.default.isWritableFile(atPath: folder) {
                throw ValidationError("no folder that can be written: \(folder)")
            }
        }
        if let limit, limit <= 0 { throw ValidationError("the limit is not above 0 seconds: \(limit)") }
    }

    func run() throws {
        let files = FileManager.default
        let bugs = try SeededPackage(at: files.currentDirectoryPath, edits: edits)
        let chosen = try bugs.named(only)
        if list {
            for bug in chosen { print(bug.filter.map { "\(bug.name): \($0)" } ?? bug.name) }
            return
        }
        Interruption.endTheCommandsToo()
        let report = try MutantRun(bugs, command: command, limit: limit).run(chosen)
        if let json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            try encoder.encode(report).write(to: URL(fileURLWithPath: json))
        }
        if !report.isGood { throw ExitCode(1) }
    }

    static func main() {
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch let failure as Failure {
            FileHandle.standardError.write(Data(failure.lines.map { "mutants: \($0)\n" }.joined().utf8))
            Foundation.exit(2)
        } catch let code as ExitCode {
            Foundation.exit(code.rawValue)
        } catch {
            if exitCode(for: error).isSuccess { exit(withError: error) }
            FileHandle.standardError.write(Data("mutants: \(message(for: error))\n".utf8))
            Foundation.exit(2)
        }
    }
}
