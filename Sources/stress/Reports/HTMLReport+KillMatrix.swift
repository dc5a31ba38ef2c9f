// SPDX-License-Identifier: Apache-2.0

import Foundation

extension HTMLReport {
    /// Seeded bugs down, engines across; each cell has the time to kill, what has caught the bug, and where.
    static func killMatrix(_ report: Report) -> String {
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
            \(table([("mutant", false)] + matrix.engines.map { ($0.title, false) }, rows))
            """
        if !controls.isEmpty {
            let columns = [("scenario", false), ("engine", false), ("found", false), ("took", true)]
            body += "<h2>Controls: the same without a bug</h2>\(table(columns, controls))"
        }
        return section("Kill matrix", body)
    }

    /// Known defects down: which engine has found each, how fast, and why others have not.
    static func calibration(_ report: Report) -> String {
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

    private static func cell(_ cell: KillMatrix.Cell, _ longest: Double) -> String {
        let share = max(2, log1p(10 * cell.seconds) / log1p(10 * longest) * 100)
        let time = verdict(cell.text, isGood: !cell.hasSurvivor)
        return """
            <td class="cell">\(time)<small>\(cell.catchers.joined(separator: ", ").escaped)</small>\
            <small>in \(cell.scenarios.joined(separator: ", ").escaped)</small>\
            <span class="bar" style="width: \(Int(share))%"></span></td>
            """
    }
}
