// SPDX-License-Identifier: Apache-2.0

import Foundation

extension HTMLReport {
    /// Returns a table of seeded bugs and engines. Each cell has the time until the bug was found,
    /// the check that found it, and where.
    static func killMatrix(_ report: CommandReport) -> String {
        guard !report.kills.isEmpty else { return "" }
        let matrix = KillMatrix(report.kills)
        let longest = matrix.rows.flatMap { $0.cells.values }.map(\.seconds).max() ?? 1
        let rows = matrix.rows.map { row in
            let cells = matrix.engines.map { engine in row.cells[engine].map { cell($0, longest) } ?? "<td></td>" }
            return "<tr><th>\(row.mutant.escaped)</th>\(cells.joined())</tr>"
        }
        let controls = matrix.controls.map { control in
            """
            <tr><th>\(control.scenario.escaped)</th><td>\(control.engine.title)</td>\
            <td>\(verdict(control.text, isGood: control.verdict == .clean))</td>\
            <td class="number">\(Format.seconds(control.seconds))</td></tr>
            """
        }
        var body = """
            <p>\(matrix.summary.escaped)</p>
            <p class="soft">A bar is the time until the bug was found, on the logarithmic scale above its column.</p>
            \(table(heads: ["<th>seeded bug</th>"] + matrix.engines.map { head($0, longest) }, rows))
            """
        if !controls.isEmpty {
            let columns = [("scenario", false), ("engine", false), ("found", false), ("took", true)]
            body += "<h2>Controls: runs without a bug</h2>\(table(columns, controls))"
        }
        return section("Kill matrix", body)
    }

    /// Returns a table of known defects: which engines have found each, how fast, and why others
    /// have not.
    static func calibration(_ report: CommandReport) -> String {
        guard let trials = report.trials else { return "" }
        let calibration = Calibration(report.kills, trials)
        let rows = calibration.rows.map { row in
            let found = row.finders.map { "\($0.engine.title) \(Format.seconds($0.seconds)): \($0.by)" }
            let missed = row.missed.map { "\($0.engine.title) \($0.text)" }
            let blind = Calibration.grouped(row.blind).map { "\($0.engines): \($0.text)" }
            let cells = [found, missed, blind].map { "<td>\($0.map(\.escaped).joined(separator: "<br>"))</td>" }
            return """
                <tr><th>\(row.defect.name.escaped)<br><small>\(row.defect.origin.text.escaped)</small></th>\
                \(cells.joined())</tr>
                """
        }
        let columns = ["defect", "found by", "not found by", "cannot be seen by"].map { ($0, false) }
        let failures = calibration.failures.map { "<p>\(verdict($0, isGood: false))</p>" }.joined()
        return section(
            "Known defects, unaided",
            "<p>\(calibration.summary.escaped)</p>\(failures)\(table(columns, rows))"
        )
    }

    /// Returns the place on the scale of the bars, in percent, at which a time ends. The scale is
    /// logarithmic from a tenth of a second on.
    private static func place(of seconds: Double, _ longest: Double) -> Int {
        Int(log1p(10 * seconds) / log1p(10 * max(longest, 0.1)) * 100)
    }

    /// Returns the head of an engine's column: its name over the scale of its bars.
    private static func head(_ engine: Kill.Engine, _ longest: Double) -> String {
        let marks = [0.1, 1, 10, 100, 1_000].filter { $0 <= longest }.map { seconds in
            "<i style=\"left: \(place(of: seconds, longest))%\">\(seconds < 1 ? "0.1 s" : "\(Int(seconds)) s")</i>"
        }
        return "<th class=\"cell\">\(engine.title.escaped)<span class=\"scale\">\(marks.joined())</span></th>"
    }

    private static func cell(_ cell: KillMatrix.Cell, _ longest: Double) -> String {
        let time = verdict(cell.text, isGood: !cell.hasSurvivor)
        return """
            <td class="cell">\(time)<small>\(cell.catchers.joined(separator: ", ").escaped)</small>\
            <small>in \(cell.scenarios.joined(separator: ", ").escaped)</small>\
            <span class="bar" style="width: \(max(2, place(of: cell.seconds, longest)))%"></span></td>
            """
    }
}

extension Kill.Engine {
    /// Whether the engine chooses its workload from a seed.
    var hasSeed: Bool {
        switch self {
        case .plain, .faults, .histories, .thread, .address, .realtime, .plainWithoutLiburcu, .faultsWithoutLiburcu:
            true
        case .explorer, .model, .litmus, .tests, .explorerWithoutLiburcu: false
        }
    }

    /// Whether the engine runs scenarios on threads that are delayed.
    var runsScenarios: Bool { hasSeed && self != .histories }
}
