// SPDX-License-Identifier: Apache-2.0

/// The tables of a run, as the documentation shows them.
enum MarkdownReport {
    static func text(_ report: Report) -> String {
        var lines = [
            "\(report.machine.text); \(report.date)\(report.isQuick ? "; a quick run" : "").",
            "",
        ]
        lines += table(
            ["case", "ours", "reference", "ratio", "bar", "verdict"],
            report.outcomes.map { line in
                [
                    "`\(line.name)`", "\(decimal(line.ours)) \(line.unit)",
                    line.reference.map { "\(decimal($0)) \(line.unit)" } ?? "",
                    line.ratio.map(decimal) ?? "",
                    line.bound.map { "≤ \(decimal($0))\(line.ratio == nil ? " " + line.unit : "")" } ?? "",
                    line.verdict,
                ]
            }
        )
        if !report.latencies.isEmpty {
            lines += [
                "", "Latency in nanoseconds from the due time, in an open loop of \(Latency.perSecond) a second:", "",
            ]
            lines += table(LatencyTable.heading, report.latencies.map(LatencyTable.cells))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func table(_ heading: [String], _ rows: [[String]]) -> [String] {
        ([heading, heading.map { _ in "---" }] + rows).map { "| " + $0.joined(separator: " | ") + " |" }
    }
}
