// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

/// Measures the cases, prints a line for each when it is measured, and judges them.
struct Measure: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "measure",
        abstract: "Measure, and hold the figures against the bars.",
        discussion: "Exit codes: 0 every bar holds, 1 wrong usage, 2 a bar falls short, 4 a bar could not be judged."
    )

    @OptionGroup var options: Options

    static let all: [Case] = [
        NotifySuite.cases, PeerNotifySuite.cases, ThreadsSuite.cases, RegistrationSuite.cases, WaitSuite.cases,
        StuckSuite.cases, MemorySuite.cases, MillionSuite.cases, PropertyReadSuite.cases, PropertySetSuite.cases,
        TransactionSuite.cases,
        ObservationSuite.cases, PathSuite.cases, BindingSuite.cases, DeliverySuite.cases, LatencySuite.cases,
        ScalingSuite.cases, DerivedSuite.cases, PhilosopherSuite.cases,
    ].flatMap { $0 }

    func run() throws {
        let cases = Self.all.filter { options.only.map($0.name.contains) ?? true }
        guard !cases.isEmpty else { throw ValidationError("no case's name contains '\(options.only ?? "")'") }
        let table = Table(names: cases.map(\.name))
        let effort = options.quick ? Effort.quick : .full
        var distance = ProcessorDistance(effort)
        var outcomes: [Outcome] = []
        print(table.header)
        for measured in cases {
            let outcome = try outcome(of: measured, effort, &distance)
            outcomes.append(outcome)
            print(table.line(outcome))
            fflush(nil)
        }
        let report = Report(outcomes, LatencyLog.shared.all, distance, isQuick: options.quick)
        if !report.latencies.isEmpty { print("\n" + LatencyTable.text(report.latencies)) }
        if let path = options.json { try report.write(to: path) }
        if let path = options.markdown { try Data(MarkdownReport.text(report).utf8).write(to: URL(filePath: path)) }
        if let folder = options.plots { try PlotData.write(report, to: URL(filePath: folder)) }
        print("\n" + outcomes.summary)
        throw ExitCode(outcomes.exitCode)
    }
    /// Measures a case. The addresses of a process's code and memory depend on chance, and can cost
    /// one side a fifth for the whole life of the process. If the bar of a case does not hold in
    /// this process, the case is also measured in other processes. All rounds count.
    private func outcome(
        of measured: Case,
        _ effort: Effort,
        _ distance: inout ProcessorDistance
    ) throws -> Outcome {
        var rounds = measured.run(effort, &distance)
        var outcome = Outcome(of: measured, rounds)
        for _ in 0..<effort.extensions where outcome.isOpen {
            // The distance that is found at the start counts as the smallest one.
            _ = distance.settle()
            try RoundsElsewhere.add(measured.name, isQuick: options.quick, to: &rounds)
            outcome = Outcome(of: measured, rounds)
        }
        return outcome
    }
}
