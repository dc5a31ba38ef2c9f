// SPDX-License-Identifier: Apache-2.0

/// Shows which engine finds which known defect without help, and how fast.
///
/// Engines that run the library have made trials. Models, litmus tests and unit tests know only
/// their own rows, so their kills are used.
struct Calibration {
    enum Cell: Equatable {
        case found(seconds: Double, by: String)
        /// The engine has looked for the defect and has not found it. The text has the time and the
        /// extent of the search.
        case missed(String)
        /// The defect cannot be stated for this engine. The text has the reason.
        case blind(String)
        case notRun
        /// The catalogue and the results contradict each other. The text says how.
        case wrong(String)

        var isFound: Bool { if case .found = self { true } else { false } }
    }

    struct Row {
        let defect: KnownDefect
        let cells: [Kill.Engine: Cell]

        /// The engines that have found the defect, with their times. The fastest comes first.
        var finders: [(engine: Kill.Engine, seconds: Double, by: String)] {
            Kill.Engine.allCases.compactMap { engine in
                guard case .found(let seconds, let by) = cells[engine] else { return nil }
                return (engine, seconds, by)
            }.sorted { $0.seconds < $1.seconds }
        }

        func engines(_ text: (Cell) -> String?) -> [(engine: Kill.Engine, text: String)] {
            Kill.Engine.allCases.compactMap { engine in
                cells[engine].flatMap(text).map { (engine, $0) }
            }
        }

        var missed: [(engine: Kill.Engine, text: String)] {
            engines { if case .missed(let text) = $0 { text } else { nil } }
        }
        /// The engines for which the defect cannot be stated. The unit tests are left out: if no
        /// test undoes a repair, this says nothing about what tests can find.
        var blind: [(engine: Kill.Engine, text: String)] {
            engines { if case .blind(let text) = $0 { text } else { nil } }.filter { $0.engine != .tests }
        }
        var wrong: [(engine: Kill.Engine, text: String)] {
            engines { if case .wrong(let text) = $0 { text } else { nil } }
        }
    }

    let rows: [Row]
    /// Descriptions of the faults in the results or in the catalogue.
    let failures: [String]
    /// The trials without a defect.
    let controls: [Trial]

    init(_ kills: [Kill], _ trials: [Trial], defects: [KnownDefect] = KnownDefect.all) {
        let rows = defects.map { defect in
            let engines = Kill.Engine.allCases.filter { !Kill.Engine.withoutLiburcu.contains($0) }
            let cells = engines.map { ($0, Self.cell(of: defect, $0, kills, trials)) }
            return Row(defect: defect, cells: Dictionary(uniqueKeysWithValues: cells))
        }
        self.rows = rows
        controls = trials.filter { $0.defect == nil }
        var failures: [String] = []
        for row in rows {
            failures += row.wrong.map { "\(row.defect.name): \($0.engine.title): \($0.text)" }
            if row.finders.isEmpty, !row.cells.values.contains(.notRun) {
                failures.append("\(row.defect.name): found by no engine")
            }
        }
        for control in controls {
            guard let catcher = control.catcher else { continue }
            failures.append("\(control.engine.title), with nothing taken back: \(catcher) in \(control.place ?? "?")")
        }
        for trial in trials {
            guard let name = trial.defect, !defects.contains(where: { $0.name == name }) else { continue }
            failures.append("\(trial.engine.title): a trial of a defect that is not in the catalogue: \(name)")
        }
        self.failures = failures
    }

    private static func cell(
        of defect: KnownDefect,
        _ engine: Kill.Engine,
        _ kills: [Kill],
        _ trials: [Trial]
    ) -> Cell {
        guard case .named(let names) = defect.statement(for: engine) else {
            if case .none(let reason) = defect.statement(for: engine) { return .blind(reason) }
            return .notRun
        }
        switch engine {
        case .plain, .faults, .explorer, .histories, .thread, .address, .realtime, .plainWithoutLiburcu,
            .faultsWithoutLiburcu, .explorerWithoutLiburcu:
            // The last trial counts, because the defect may have been looked for again.
            guard let trial = trials.last(where: { $0.defect == defect.name && $0.engine == engine }) else {
                return .notRun
            }
            guard let catcher = trial.catcher else {
                let extent = trial.extent.map { ", \($0)" } ?? ""
                return .missed("\(Format.seconds(trial.seconds))\(extent)")
            }
            return .found(seconds: trial.seconds, by: trial.place.map { "\(catcher) in \($0)" } ?? catcher)
        case .model, .litmus, .tests:
            let all = kills.filter { $0.engine == engine }
            if all.isEmpty { return .notRun }
            for name in names where !all.contains(where: { $0.mutant == name }) {
                return .wrong("it has no row “\(name)”")
            }
            let own = all.filter { $0.mutant.map(names.contains) ?? false && $0.verdict == .killed }
            guard let fastest = own.min(by: { $0.seconds < $1.seconds }) else {
                return .missed("\(names.count) rows")
            }
            return .found(seconds: fastest.seconds, by: "\(fastest.catcher ?? "?") in \(fastest.scenario)")
        }
    }

    /// The text for the terminal. It has a paragraph for each defect.
    var text: String {
        var lines: [String] = []
        for row in rows {
            lines.append("\(row.defect.name) (\(row.defect.origin.text))")
            for finder in row.finders {
                lines.append("  found by \(finder.engine.title), \(Format.seconds(finder.seconds)): \(finder.by)")
            }
            for (engine, text) in row.missed { lines.append("  not found by \(engine.title) in \(text)") }
            for (engine, text) in row.wrong { lines.append("  WRONG, \(engine.title): \(text)") }
            for (reason, engines) in Self.grouped(row.blind) {
                lines.append("  cannot be seen by \(engines): \(reason)")
            }
        }
        lines += failures.map { "CALIBRATION: \($0)" }
        lines.append(summary)
        return lines.joined(separator: "\n")
    }

    var summary: String {
        let found = rows.count { !$0.finders.isEmpty }
        return "\(rows.count) known defects, \(found) found; \(failures.count) failures of the calibration"
    }

    /// Groups the engines that have the same text.
    static func grouped(_ cells: [(engine: Kill.Engine, text: String)]) -> [(text: String, engines: String)] {
        var texts: [String] = []
        for cell in cells where !texts.contains(cell.text) { texts.append(cell.text) }
        return texts.map { text in
            (text, cells.filter { $0.text == text }.map(\.engine.title).joined(separator: ", "))
        }
    }
}
