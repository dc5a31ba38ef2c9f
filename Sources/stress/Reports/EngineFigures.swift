// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Writes the engines' figures for the article "How it is verified".
enum EngineFigures {
    /// Returns the figures as Markdown.
    ///
    /// - Parameter date: The date of the oldest result.
    static func markdown(_ report: CommandReport, measured date: Date) -> String {
        let machine = report.machine
        var lines = [
            "\(machine.processor), \(machine.cores) processors, \(machine.toolchain); \(date.formatted(.iso8601)).",
            "",
            "| engine | bugs and broken rules | found | median | slowest | controls | clean |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        for engine in Kill.Engine.allCases {
            let kills = report.kills.filter { $0.engine == engine }
            if kills.isEmpty { continue }
            let bugs = kills.filter { $0.mutant != nil && $0.verdict != .absent }
            let killed = bugs.filter { $0.verdict == .killed }.map(\.seconds).sorted()
            let controls = kills.filter { $0.mutant == nil }
            let median = killed.isEmpty ? "" : time(killed[killed.count / 2])
            let columns = [
                engine.title, "\(bugs.count)", "\(killed.count)", median, killed.last.map(time) ?? "",
                "\(controls.count)", "\(controls.count { $0.verdict == .clean })",
            ]
            lines.append("| \(columns.joined(separator: " | ")) |")
        }
        // A table: its lines may be as wide as they need.
        let absent = Kill.Engine.allCases.compactMap { engine -> String? in
            let names = report.kills.filter { $0.engine == engine && $0.verdict == .absent }.compactMap(\.mutant)
            if names.isEmpty { return nil }
            return "| \(engine.title) | \(Set(names).sorted().map { "*\($0)*" }.joined(separator: ", ")) |"
        }
        if !absent.isEmpty { lines += ["", "| engine | not in its backend |", "| --- | --- |"] + absent }
        if let trials = report.trials { lines += calibration(Calibration(report.kills, trials)) }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func calibration(_ calibration: Calibration) -> [String] {
        var lines = ["", "| known defect | source | found by | looked for in vain by |", "| --- | --- | --- | --- |"]
        for row in calibration.rows {
            let found = row.finders.map { "\($0.engine.title) \(time($0.seconds))" }
            let missed = row.missed.map { "\($0.engine.title) (\($0.text))" }
            let columns = [
                row.defect.name, row.defect.origin.text, found.joined(separator: ", "), missed.joined(separator: "; "),
            ]
            lines.append("| \(columns.joined(separator: " | ")) |")
        }
        lines += ["", "| why an engine cannot have a defect | engine | defects |", "| --- | --- | ---: |"]
        for (reason, engines, count) in reasons(calibration) { lines.append("| \(reason) | \(engines) | \(count) |") }
        // If all cells of an engine are empty, the engine was not run.
        let absent = Kill.Engine.allCases.filter { engine in
            calibration.rows.contains { $0.cells[engine] == .notRun }
                && !calibration.rows.contains { $0.finders.contains { $0.engine == engine } }
                && !calibration.rows.contains { $0.missed.contains { $0.engine == engine } }
        }
        let absentees = absent.isEmpty ? "" : "; not run: \(absent.map(\.title).joined(separator: ", "))"
        lines += ["", "\(calibration.summary)\(absentees)."]
        return lines
    }

    /// Returns the reasons for which engines cannot look for a defect, each with its engines and
    /// the number of defects.
    private static func reasons(_ calibration: Calibration) -> [(reason: String, engines: String, count: Int)] {
        var found: [(reason: String, engines: String, count: Int)] = []
        for cell in calibration.rows.flatMap({ Calibration.grouped($0.blind) }) {
            if let index = found.firstIndex(where: { $0.reason == cell.text && $0.engines == cell.engines }) {
                found[index].count += 1
            } else {
                found.append((cell.text, cell.engines, 1))
            }
        }
        return found.sorted { $0.count > $1.count }
    }

    /// Formats a time, with milliseconds if it is short.
    private static func time(_ seconds: Double) -> String {
        seconds < 0.095 ? "\(max(1, Int((seconds * 1_000).rounded()))) ms" : Format.seconds(seconds)
    }
}
