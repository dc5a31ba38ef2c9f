// SPDX-License-Identifier: Apache-2.0

/// The table at the end of a run.
enum RunReport {
    static func text(_ results: [ScenarioResult]) -> String {
        var table = TextTable([
            ("scenario", false), ("operations", true), ("checks", true), ("windows", true), ("violations", true),
            ("notify p50", true), ("p99", true), ("p99.9", true), ("max", true), ("verdict", false),
        ])
        for result in results {
            table.add([
                result.scenario.name,
                Format.count(result.operations),
                Format.count(result.checks),
                "\(result.windows.count - result.missedWindows.count)/\(result.windows.count)",
                "\(result.violationCount)",
                Format.time(result.notify.quantile(0.5)),
                Format.time(result.notify.quantile(0.99)),
                Format.time(result.notify.quantile(0.999)),
                Format.time(result.notify.total > 0 ? result.notify.maximum : nil),
                result.verdictText,
            ])
        }
        var lines = [table.text]
        for result in results {
            for window in result.missedWindows { lines.append("not hit: \(result.scenario.name): \(window)") }
            for violation in result.violations {
                lines.append("violated: \(violation.scenario): \(violation.invariant): \(violation.message)")
            }
        }
        return lines.joined(separator: "\n")
    }
}
