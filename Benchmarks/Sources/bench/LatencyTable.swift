// SPDX-License-Identifier: Apache-2.0

/// Writes the table of latencies, in nanoseconds from the moment when each notification was due.
enum LatencyTable {
    static var heading: [String] {
        ["situation", "operations"] + Report.Tail.shown.map { "p\(percentile($0))" } + ["max"]
    }

    static func cells(_ tail: Report.Tail) -> [String] {
        [tail.situation, "\(tail.count)"] + Report.Tail.shown.map { tail.value($0).map { "\($0)" } ?? "-" } + [
            "\(tail.max)"
        ]
    }

    static func text(_ tails: [Report.Tail]) -> String {
        let rows = [heading] + tails.map(cells)
        let widths = heading.indices.map { column in rows.map(\.[column].count).max() ?? 0 }
        let lines = rows.map { row in
            row.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - row[column].count)
                return column == 0 ? row[column] + space : space + row[column]
            }
            .joined(separator: "  ")
        }
        let note =
            "nanoseconds from the due time, open loop, \(Latency.perSecond) a second, one at a time, CLOCK_MONOTONIC"
        return ([note] + lines).joined(separator: "\n")
    }

    private static func percentile(_ value: Double) -> String {
        value == value.rounded() ? "\(Int(value))" : "\(value)"
    }
}
