// SPDX-License-Identifier: Apache-2.0

import Foundation

private let options: Options
do throws(Options.UsageError) {
    options = try Options(CommandLine.arguments.dropFirst())
} catch {
    FileHandle.standardError.write(Data("bench: \(error.message)\n".utf8))
    exit(1)
}
if options.wantsHelp {
    print(Options.help)
    exit(0)
}

// Before the measurements, not after them: a file that cannot be written is a mistake in the command line.
if let path = options.jsonPath, !FileManager.default.createFile(atPath: path, contents: nil) {
    FileHandle.standardError.write(Data("bench: cannot write '\(path)'.\n".utf8))
    exit(1)
}

private let all =
    NotifySuite.cases + ThreadsSuite.cases + RegistrationSuite.cases + WaitSuite.cases + StuckSuite.cases
    + MemorySuite.cases
    + MillionSuite.cases + PropertyReadSuite.cases + PropertySetSuite.cases
    + PathSuite.cases + DeliverySuite.cases
private let cases = all.filter { options.part.map($0.name.contains) ?? true }
if cases.isEmpty {
    FileHandle.standardError.write(Data("bench: no case's name contains '\(options.part ?? "")'.\n".utf8))
    exit(1)
}
private let table = Table(names: cases.map(\.name))
private var outcomes: [Outcome] = []

print(table.header)
for measured in cases {
    let outcome = measured.run(options.isQuick ? .quick : .full)
    outcomes.append(outcome)
    print(table.line(outcome))
    fflush(nil)
}

if let path = options.jsonPath {
    try Report(outcomes, isQuick: options.isQuick).write(to: path)
}
exit(outcomes.exitCode)
