// SPDX-License-Identifier: Apache-2.0

/// The table at the end of a run.
package enum RunReport {
    package static func text(_ report: Report) -> String {
        var table = TextTable([
            ("scenario", false), ("operations", true), ("checks", true), ("windows", true), ("violations", true),
            ("latency", false), ("p50", true), ("p99", true), ("p99.9", true), ("max", true), ("verdict", false),
        ])
        for row in report.scenarios {
            let latency = row.latencies.first
            table.add([
                row.name,
                Format.count(row.operations),
                Format.count(row.checks),
                "\(row.windows.count - row.missedWindows.count)/\(row.windows.count)",
                "\(row.violationCount)",
                latency?.name ?? "-",
                Format.time(latency?.p50),
                Format.time(latency?.p99),
                Format.time(latency?.p999),
                Format.time(latency?.max),
                row.verdict.text,
            ])
        }
        var lines = [table.text]
        for row in report.scenarios {
            for window in row.missedWindows where row.verdict == .inconclusive {
                lines.append("not hit: \(row.name): \(window)")
            }
            for violation in row.violations {
                lines.append("violated: \(violation.scenario): \(violation.invariant): \(violation.message)")
            }
        }
        if let memory = report.memory { lines.append("resident memory: \(memory.text)") }
        return lines.joined(separator: "\n")
    }
}
