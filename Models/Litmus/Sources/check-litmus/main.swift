// SPDX-License-Identifier: Apache-2.0

import Foundation
import Litmus

// usage: check-litmus SOURCES HARNESS [--self-test | --brief]; see Scripts/check-litmus.sh.

func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

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
case nil, "--brief":
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
    if report.mismatches > 0 { exit(1) }
default:
    say("usage: check-litmus SOURCES HARNESS [--self-test | --brief]")
    exit(2)
}
