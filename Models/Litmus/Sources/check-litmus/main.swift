// SPDX-License-Identifier: Apache-2.0

import Foundation
import Litmus

// usage: check-litmus SOURCES HARNESS [--self-test | --brief | --json FILE]; see
// Scripts/check-litmus.sh.

func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

/// All that was found, as a file that `stress report` merges.
struct Kills: Encodable {
    let schemaVersion = 3
    let command = "check-litmus"
    let exitCode: Int32
    let seconds: Double
    let kills: [Kill]
}

let started = Date()
let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count >= 2, let tree = try? SourceTree(folder: arguments[0]),
    let harness = try? Harness.read(folder: arguments[1])
else {
    say("check-litmus: the folders of the library's sources and of the harness come first")
    exit(2)
}

switch arguments.dropFirst(2).first {
case "--self-test":
    guard SelfTest.run(on: tree, harness, say: say) else { exit(2) }
    say("check-litmus: every check can fail")
case nil, "--brief", "--json":
    let file = arguments.dropFirst(3).first.map { URL(fileURLWithPath: $0) }
    if arguments.dropFirst(2).first == "--json", file == nil {
        say("check-litmus: --json takes a file")
        exit(2)
    }
    var report = Report(showsExecutions: arguments.count == 2)
    let tests = Protocol.withTwins
    report.compare(published: PublishedTest.all)
    report.compare(classics: ClassicTest.all)
    report.judge(protocol: tests)
    report.judgeWeakenings(of: tests)
    report.judge(defects: Defect.all)
    report.compare(code: tree)
    report.compare(harness: harness, code: tree)
    report.lines.forEach(say)
    say("check-litmus: \(tests.count) rows, \(report.mismatches) not as expected")
    if let file {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let kills = Kills(
            exitCode: report.mismatches > 0 ? 2 : 0,
            seconds: -started.timeIntervalSinceNow,
            kills: report.kills
        )
        do { try encoder.encode(kills).write(to: file) } catch {
            say("check-litmus: \(file.path) cannot be written: \(error.localizedDescription)")
            exit(2)
        }
    }
    if report.mismatches > 0 { exit(1) }
default:
    say("usage: check-litmus SOURCES HARNESS [--self-test | --brief | --json FILE]")
    exit(2)
}
