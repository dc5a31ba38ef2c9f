// SPDX-License-Identifier: Apache-2.0

import Judging

/// Prints the table of the command. A line is printed when its case is measured.
struct Table {
    private let nameWidth: Int
    private static let columns = ["ours", "reference", "ratio", "bound", "spread", "verdict"]
    private static let width = 12

    init(names: [String]) { nameWidth = names.map(\.count).max() ?? 0 }

    var header: String { line("subject.operation.situation", Self.columns) }

    func line(_ outcome: Outcome) -> String {
        let (judgement, unit) = (outcome.judgement, outcome.unit.rawValue)
        return line(
            outcome.name,
            [
                decimal(judgement.ours) + " " + unit,
                judgement.reference.map { decimal($0) + " " + unit } ?? "-",
                outcome.ratio.map { decimal($0) } ?? "-",
                outcome.bound.map { "<= " + decimal($0) + (outcome.ratio == nil ? " " + unit : "") } ?? "-",
                judgement.spread.map { decimal($0.lowerBound) + ".." + decimal($0.upperBound) } ?? "?",
                judgement.verdict.rawValue,
            ]
        )
    }

    private func line(_ name: String, _ cells: [String]) -> String {
        var line = padded(name, nameWidth)
        for cell in cells { line += "  " + padded(cell, Self.width) }
        while line.last == " " { line.removeLast() }
        return line
    }

    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
