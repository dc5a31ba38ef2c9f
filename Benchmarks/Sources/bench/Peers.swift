// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Judging

/// Measures the library and the programs in `Peers`. Their rounds alternate.
struct Peers: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Compare with libraries of other languages; Scripts/bench-peers.sh builds their programs.",
        discussion: "Prints for each operation and side: nanoseconds, the middle half of the rounds, their number."
    )

    @Flag(help: "Fewer and shorter rounds: a look.")
    var quick = false

    @Option(help: ArgumentHelp("Measure the operations whose titles contain this.", valueName: "text"))
    var only: String?

    @Option(help: ArgumentHelp("Write the table to a file, as Markdown.", valueName: "file"))
    var markdown: String?

    @Argument(help: ArgumentHelp("The programs.", valueName: "title=command"))
    var programs: [String] = []

    private typealias Side = (_ operation: PeerOperation, _ times: Int) throws -> [ThreadRun]?

    func run() throws {
        // If a program has ended, the next request fails with an error, and no signal ends this
        // process.
        signal(SIGPIPE, SIG_IGN)
        let programs = try programs.map(PeerProgram.init)
        let titles = programs.map(\.title)
        let sides: [Side] = [{ $0.measure($1) }] + programs.map { $0.measure }
        let effort = quick ? Effort.quick : .full
        var distance = ProcessorDistance(effort)
        var table = PeerTable(peers: titles)
        for operation in PeerOperation.all where only.map(operation.title.contains) ?? true {
            let judgements = try measure(operation, sides, effort, &distance)
            for (title, judgement) in zip(["ours"] + titles, judgements) {
                print(Self.line(operation, title, judgement))
            }
            fflush(nil)
            table.add(operation.title, ours: judgements[0]!, theirs: Array(judgements.dropFirst()))
        }
        guard let markdown else { return }
        let report = Report([], [], distance, isQuick: quick)
        try Data((report.heading + "\n\n" + table.markdown).utf8).write(to: URL(filePath: markdown))
    }

    /// Returns the result of each side's rounds; nil for a side that has no such operation.
    private func measure(
        _ operation: PeerOperation,
        _ sides: [Side],
        _ effort: Effort,
        _ distance: inout ProcessorDistance
    ) throws -> [Judgement?] {
        let times = try sides.map { try timesOfRound(operation, $0, effort) }
        var rounds = sides.map { _ in Rounds() }
        for round in 0..<effort.rounds {
            let isSettled = distance.settle()
            // Each time another side is the first, so that a slow change of the machine favours
            // none.
            for index in sides.indices.map({ ($0 + round) % sides.count }) {
                guard let times = times[index] else { continue }
                let sample = try sample(operation) { try sides[index](operation, times)! }
                rounds[index].add(sample, isSettled: isSettled)
            }
        }
        return zip(times, rounds).map { $0 == nil ? nil : Judgement(of: $1, operation.summary, bound: nil) }
    }

    /// Runs a round, and returns its sample. If threads did not run at the same time, they have
    /// measured something else. With one thread, a disturbance only changes the time, and several
    /// rounds show that.
    private func sample(_ operation: PeerOperation, _ run: () throws -> [ThreadRun]) rethrows -> Sample {
        if operation.threads == 1 { return try Sample(Sample(of: run()).figure) }
        return try .undisturbed { try Sample(of: run()) }
    }

    /// Returns the number of operations for a round of some milliseconds. First runs some
    /// operations that are not counted, in which a virtual machine compiles.
    private func timesOfRound(_ operation: PeerOperation, _ side: Side, _ effort: Effort) throws -> Int? {
        let least = 8e6 / Double(effort.divisor)
        var (times, unkept) = (100, 10)
        while let runs = try side(operation, times) {
            if runs.elapsed < least {
                times *= runs.elapsed < least / 10 ? 10 : 2
            } else if unkept == 0 {
                return times
            } else {
                unkept -= 1
            }
        }
        return nil
    }

    private static func line(_ operation: PeerOperation, _ side: String, _ judgement: Judgement?) -> String {
        let figures = judgement.map {
            [$0.figure, $0.spread?.lowerBound ?? .nan, $0.spread?.upperBound ?? .nan].map(decimal) + ["\($0.rounds)"]
        }
        return ([operation.title, side] + (figures ?? ["-"])).joined(separator: "\t")
    }
}
