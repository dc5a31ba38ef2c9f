// SPDX-License-Identifier: Apache-2.0

import Judging

/// Writes the tables of a run for the documentation.
enum MarkdownReport {
    static func text(_ report: Report) -> String {
        var lines = [
            report.heading, "",
        ]
        lines += markdownTable(
            ["case", "ours", "reference", "ratio", "bar", "verdict"],
            report.outcomes.map(row)
        )
        if !report.latencies.isEmpty {
            lines += [
                "", "Latency in nanoseconds from the due time, in an open loop of \(Latency.perSecond) a second:", "",
            ]
            lines += markdownTable(LatencyTable.heading, report.latencies.map(LatencyTable.cells))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func row(_ line: Report.Line) -> [String] {
        let spread = openSpread(line)
        return [
            "`\(line.name)`", "\(decimal(line.ours)) \(line.unit)" + (line.ratio == nil ? spread : ""),
            line.reference.map { "\(decimal($0)) \(line.unit)" } ?? "",
            line.ratio.map { decimal($0) + spread } ?? "",
            line.bound.map { "≤ \(decimal($0))\(line.ratio == nil ? " " + line.unit : "")" } ?? line.why ?? "",
            line.verdict.rawValue,
        ]
    }

    /// Returns the middle half of the rounds, if the figure without it would look too exact.
    private static func openSpread(_ line: Report.Line) -> String {
        guard line.verdict == .notJudged || line.verdict == .disturbed, let spread = line.spread else { return "" }
        return " (\(decimal(spread[0])) to \(decimal(spread[1])))"
    }
}

extension Report {
    /// The machine on which the figures were measured, and the date.
    var heading: String { "\(machine.text); \(date)\(isQuick ? "; a quick run" : ""). \(distance)" }
}
