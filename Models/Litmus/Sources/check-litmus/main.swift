// SPDX-License-Identifier: Apache-2.0

import Foundation
import Litmus

// usage: check-litmus SOURCES [--self-test | --brief]; see Scripts/check-litmus.sh.

func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

let arguments = CommandLine.arguments.dropFirst()
guard let folder = arguments.first, let tree = try? SourceTree(folder: folder) else {
    say("check-litmus: the folder of the library's sources is the first argument")
    exit(2)
}

switch arguments.dropFirst().first {
case "--self-test":
    guard SelfTest.run(on: tree, say: say) else { exit(2) }
    say("check-litmus: every check can fail")
case nil, "--brief":
    var report = Report(showsExecutions: arguments.count == 1)
    let tests = Protocol.withTwins
    report.compare(published: PublishedTest.all)
    report.compare(classics: ClassicTest.all)
    report.judge(protocol: tests)
    report.judgeWeakenings(of: tests)
    report.judge(defects: Defect.all)
    report.compare(code: tree)
    report.lines.forEach(say)
    say("check-litmus: \(tests.count) rows, \(report.mismatches) not as expected")
    if report.mismatches > 0 { exit(1) }
default:
    say("usage: check-litmus SOURCES [--self-test | --brief]")
    exit(2)
}
