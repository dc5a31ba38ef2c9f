// SPDX-License-Identifier: Apache-2.0

/// Shows which engine has found which seeded bug, where, and how fast.
struct KillMatrix {
    /// All kills of one bug by one engine.
    struct Cell {
        let kills: [Kill]

        var hasSurvivor: Bool { kills.contains { $0.verdict == .survived } }
        /// The time of the slowest kill. A time budget must allow for it.
        var seconds: Double { kills.map(\.seconds).max() ?? 0 }
        var isAbsent: Bool { kills.allSatisfy { $0.verdict == .absent } }
        var catchers: [String] { isAbsent ? [] : Set(kills.map(\.text)).sorted() }
        var scenarios: [String] { isAbsent ? [] : Set(kills.map(\.scenario)).sorted() }

        var text: String {
            if hasSurvivor {
                return "SURVIVED \(kills.count { $0.verdict == .survived }) of \(kills.count)"
            }
            if isAbsent { return "not in this backend" }
            let seeds = Set(kills.map(\.seed)).count
            return Format.seconds(seconds) + (seeds > 1 ? " (slowest of \(seeds))" : "")
        }
    }

    struct Row {
        let mutant: String
        let cells: [Kill.Engine: Cell]
        var hasSurvivor: Bool { cells.values.contains(where: \.hasSurvivor) }
    }

    let rows: [Row]
    /// The engines that have looked for a bug.
    let engines: [Kill.Engine]
    let controls: [Kill]

    init(_ kills: [Kill]) {
        let bugs = kills.filter { $0.mutant != nil }
        controls = kills.filter { $0.mutant == nil }
        engines = Kill.Engine.allCases.filter { engine in bugs.contains { $0.engine == engine } }
        var names: [String] = []
        for kill in bugs where !names.contains(kill.mutant!) { names.append(kill.mutant!) }
        let found = names.map { name in
            let own = Dictionary(grouping: bugs.filter { $0.mutant == name }, by: \.engine)
            return Row(mutant: name, cells: own.mapValues(Cell.init))
        }
        // Bugs that were not found come first, because readers look for these.
        rows = found.filter(\.hasSurvivor) + found.filter { !$0.hasSurvivor }
    }

    var survivors: Int { rows.count(where: \.hasSurvivor) }
    var failedControls: Int { controls.count { $0.verdict == .failed } }

    /// The matrix as text, for the terminal.
    var text: String {
        var table = TextTable(
            [("mutant", false)] + engines.map { ($0.title, true) } + [("caught by", false), ("in", false)]
        )
        for row in rows {
            let cells = engines.compactMap { row.cells[$0] }
            table.add(
                [row.mutant] + engines.map { row.cells[$0]?.text ?? "" }
                    + [Self.joined(cells.flatMap(\.catchers)), Self.joined(cells.flatMap(\.scenarios))]
            )
        }
        return ([table.text] + failures + [summary]).joined(separator: "\n")
    }

    /// The failures, with one line for each, so that the end of a long log names them.
    private var failures: [String] {
        rows.filter(\.hasSurvivor).map { "survived: \($0.mutant)" }
            + controls.filter { $0.verdict == .failed }.map {
                "failed without a bug: \($0.scenario), \($0.engine.title), seed \($0.seed)"
            }
    }

    var summary: String {
        let absent = rows.count { $0.cells.values.contains(where: \.isAbsent) }
        let note = absent == 0 ? "" : ", \(absent) of a mechanism that a backend does not have"
        let runs = "\(controls.count) controls, \(failedControls) failed"
        return "\(rows.count) mutants, \(survivors) survived\(note); \(runs); engines: "
            + engines.map(\.title).joined(separator: ", ")
    }

    private static func joined(_ names: [String]) -> String {
        var seen: [String] = []
        for name in names where !seen.contains(name) { seen.append(name) }
        return seen.joined(separator: ", ")
    }
}
