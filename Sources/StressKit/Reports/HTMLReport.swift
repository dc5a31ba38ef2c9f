// SPDX-License-Identifier: Apache-2.0

/// Writes results as one page that needs no other file: first the failures, then the scenarios,
/// then the course over time.
package enum HTMLReport {
    /// The parts of a page that a command adds.
    package struct Additions {
        package var note = "The seed reproduces the workload and the delays, not the schedule of the operating system."
        /// Whether the page shows the seed and the scenarios' threads and delays.
        package var hasSeed = true
        package var hasScenarios = true
        package var failures: [String] = []
        /// The sections that follow the failures.
        package var sections: [String] = []

        package init() {}
    }

    package static func text(_ report: Report, _ additions: Additions = Additions()) -> String {
        let sections =
            [header(report, additions), failures(report, additions.failures)] + additions.sections
            + [scenarios(report), course(report), latencies(report)]
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>stress: \(report.verdict.escaped), seed \(report.seed)</title>
            <style>
            \(style)
            </style>
            </head>
            <body>
            \(sections.filter { !$0.isEmpty }.joined(separator: "\n"))
            </body>
            </html>

            """
    }

    // MARK: Parts

    package static func section(_ title: String, _ body: String) -> String {
        "<section><h2>\(title.escaped)</h2>\n\(body)\n</section>"
    }

    /// Returns a table.
    ///
    /// - Parameter columns: The titles. A numeric column is aligned to the right.
    package static func table(_ columns: [(title: String, isNumeric: Bool)], _ rows: [String]) -> String {
        table(
            heads: columns.map { "<th\($0.isNumeric ? " class=\"number\"" : "")>\($0.title.escaped)</th>" },
            rows
        )
    }

    /// Returns a table.
    ///
    /// - Parameter heads: The cells above the rows.
    package static func table(heads: [String], _ rows: [String]) -> String {
        """
        <div class="wide"><table><thead><tr>\(heads.joined())</tr></thead><tbody>
        \(rows.joined(separator: "\n"))
        </tbody></table></div>
        """
    }

    package static func verdict(_ text: String, isGood: Bool, isDoubt: Bool = false) -> String {
        "<span class=\"\(isGood ? "pass" : isDoubt ? "doubt" : "bad")\">\(text.escaped)</span>"
    }

    // MARK: Sections

    private static func header(_ report: Report, _ additions: Additions) -> String {
        var facts: [(String, String)] = [("command", report.command), ("build", report.build)]
        if additions.hasSeed { facts.append(("seed", "\(report.seed)")) }
        if additions.hasScenarios {
            facts.append(("threads under test", "\(report.threads)"))
            facts.append(
                ("delays", report.perturbations.isEmpty ? "none" : report.perturbations.joined(separator: ", "))
            )
        }
        facts.append(("took", Format.seconds(report.seconds)))
        facts += report.machine.facts.map { ($0.name, $0.text) }
        let list = facts.map { "<div><dt>\($0.escaped)</dt><dd>\($1.escaped)</dd></div>" }.joined(separator: "\n")
        return """
            <header><h1>stress: \(verdict(report.verdict, isGood: report.exitCode == 0))</h1>
            <p class="soft">\(additions.note.escaped)</p>
            <dl class="facts">\(list)</dl></header>
            """
    }

    private static func failures(_ report: Report, _ others: [String]) -> String {
        var cards = report.scenarios.flatMap { row in
            var cards = row.violations.map(card)
            switch row.verdict {
            case .hang: cards.append(card("\(row.name): hang", "A thread made no step.", pre(row.dump ?? "")))
            case .unfinished:
                cards.append(card("\(row.name): the process ended within it", "See its standard error.", ""))
            case .inconclusive:
                let missed = row.missedWindows.joined(separator: "; ")
                cards.append(card("\(row.name): inconclusive", "Not hit, so a pass would mean nothing: \(missed)", ""))
            case .pass, .violated: break
            }
            return cards
        }
        if let memory = report.memory, memory.hasGrown {
            cards.append(card("soak: \(memory.invariant)", memory.text, ""))
        }
        cards += others
        return cards.isEmpty ? "" : section("Failures", cards.joined(separator: "\n"))
    }

    package static func card(_ title: String, _ text: String, _ rest: String) -> String {
        "<div class=\"card\"><h3 class=\"bad\">\(title.escaped)</h3><p>\(text.escaped)</p>\(rest)</div>"
    }

    package static func pre(_ text: String) -> String { text.isEmpty ? "" : "<pre>\(text.escaped)</pre>" }

    private static func card(_ violation: Violation) -> String {
        let rows = violation.events.map { event in
            """
            <tr\(event.thread == violation.thread ? " class=\"here\"" : "")><td class="number">−\(event.microsecondsBefore)</td>\
            <td class="number">\(event.thread)</td><td>\(event.text.escaped)</td></tr>
            """
        }
        let finder = violation.thread.map { ", found by thread \($0)" } ?? ""
        return card(
            "\(violation.scenario): \(violation.invariant)",
            violation.message + finder,
            "<p>Draws the same workload: <code>\(violation.command.escaped)</code></p>"
                + (rows.isEmpty
                    ? ""
                    : table([("µs before", true), ("thread", true), ("event", false)], rows))
        )
    }

    private static func scenarios(_ report: Report) -> String {
        guard !report.scenarios.isEmpty else { return "" }
        let rows = report.scenarios.map { row in
            let isDoubt = row.verdict == .inconclusive
            let invariants = row.invariants.map { invariant in
                row.violations.contains { $0.invariant == invariant }
                    ? "<span class=\"bad\">\(invariant.escaped)</span>" : invariant.escaped
            }
            let windows = row.windows.map { "\($0.name.escaped): \(Format.count($0.hits))" }
            // A scenario of a user's test does not name promises.
            let title = row.promises.isEmpty ? "windows" : row.promises.joined(separator: " ")
            return """
                <tr><th>\(row.name.escaped)<details><summary class="soft">\(title)</summary>\
                <p>\(invariants.joined(separator: ", "))</p><p class="soft">\(windows.joined(separator: "; "))</p></details></th>\
                <td>\(verdict(row.verdict.text, isGood: row.verdict == .pass, isDoubt: isDoubt))</td>\
                <td class="number">\(Format.count(row.operations))</td><td class="number">\(Format.count(row.checks))</td>\
                <td class="number">\(row.windows.count - row.missedWindows.count)/\(row.windows.count)</td>\
                <td class="number">\(row.violationCount)</td><td class="number">\(Format.seconds(row.seconds))</td></tr>
                """
        }
        let columns = [
            ("scenario", false), ("verdict", false), ("operations", true), ("checks", true), ("windows", true),
            ("violations", true), ("took", true),
        ]
        return section("Scenarios", table(columns, rows))
    }
}
