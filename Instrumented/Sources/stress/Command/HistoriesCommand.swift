// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc

/// Records short histories on real threads, and checks that each is linearizable.
struct HistoriesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "histories",
        abstract: "Record histories of operations and check that a sequential order explains each; without names, all.",
        discussion: """
            A history that no order explains is shrunk and printed as a chart by thread. At least half of the histories must have \
            operations that overlap: else the verdict is inconclusive.
            """
    )

    @Argument(help: "Subjects, as `stress histories --list` names them.")
    var subject: [String] = []

    @Flag(help: "List the subjects.")
    var list = false

    @Option(help: "Histories of each subject.")
    var histories: Int = 20_000

    @Option(help: "Begin no batch of 256 histories after so many seconds, for each subject.")
    var seconds: Int?

    @Option(help: "Threads, 2 to 8.")
    var threads: Int = 4

    @Option(help: "Operations of each thread in a history; threads × operations is 64 at most.")
    var operations: Int = 8

    @Option(help: "Reproduces workload and delays, not the operating system's schedule.")
    var seed: UInt64 = UInt64.random(in: 1...999_999_999)

    @Option(help: .hidden, transform: SeededBug.init(parsing:))
    var mutant: SeededBug?

    mutating func validate() throws {
        for name in subject where HistorySubject.named(name) == nil {
            throw unknown("subject", name, among: HistorySubject.all.map(\.name), listedBy: "stress histories --list")
        }
        guard (2...8).contains(threads) else { throw ValidationError("--threads takes 2 to 8, not \(threads)") }
        guard seconds ?? 1 > 0 else { throw ValidationError("--seconds takes 1 or more, not \(seconds!)") }
        guard histories > 0 else { throw ValidationError("--histories takes 1 or more, not \(histories)") }
        guard operations > 0, threads * operations <= 64 else {
            throw ValidationError("--operations takes 1 to \(64 / threads) with \(threads) threads, not \(operations)")
        }
    }

    func run() throws {
        if list {
            for subject in HistorySubject.all { print("\(subject.name): \(subject.summary)") }
            return
        }
        CrashReport.install(seed: seed)
        unsafe Instrumentation.mutant = mutant
        unsafe Instrumentation.perturbation = { _ in HistoryRecorder.interrupt() }
        print("stress: \(LibraryBuild.name) build, \(threads) threads × \(operations) operations, seed \(seed)")
        var table = TextTable([
            ("subject", false), ("histories", true), ("overlapping", true), ("operations", true), ("time", true),
            ("verdict", false),
        ])
        var worst = StressExit.pass
        for subject in subject.isEmpty ? HistorySubject.all : subject.map({ HistorySubject.named($0)! }) {
            let start = nanoseconds()
            let plan = HistoryRecorder.Plan(
                histories: histories,
                end: seconds.map { start + UInt64($0) * 1_000_000_000 },
                threads: threads,
                operations: operations,
                seed: seed
            )
            let result = HistoryRecorder(subject, plan).run()
            if let witness = result.witness { print("VIOLATION \(subject.name): \(witness)") }
            table.add([
                subject.name, Format.count(UInt64(result.histories)), Format.count(UInt64(result.overlapping)),
                Format.count(UInt64(result.operations)), Format.time(nanoseconds() - start), "\(result.exit)",
            ])
            if StressExit.severity(of: result.exit.rawValue) > StressExit.severity(of: worst.rawValue) {
                worst = result.exit
            }
        }
        print(table.text)
        print("stress: \(worst), seed \(seed)")
        fflush(nil)
        throw worst
    }
}
