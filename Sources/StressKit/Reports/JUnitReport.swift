// SPDX-License-Identifier: Apache-2.0

/// Writes results as XML for JUnit: a suite for each scenario, a case for each of its invariants
/// and windows.
package enum JUnitReport {
    /// Returns the text of the file.
    ///
    /// - Parameters:
    ///   - skipped: The invariants that this run cannot check, with the reason.
    ///   - others: Suites in addition to the scenarios'.
    package static func text(_ report: Report, skipped: [String: String] = [:], _ others: [Suite] = []) -> String {
        var suites = report.scenarios.map { suite($0, report, skipped) }
        if let memory = report.memory { suites.append(suite(memory)) }
        suites += others
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites name="stress" time="\(report.seconds)">
            \(suites.map(\.text).joined(separator: "\n"))
            </testsuites>

            """
    }

    package struct Suite {
        let name: String
        let seconds: Double
        let cases: [Case]

        package init(_ name: String, _ seconds: Double, _ cases: [Case]) {
            (self.name, self.seconds, self.cases) = (name, seconds, cases)
        }

        var text: String {
            func count(_ kind: String) -> Int { cases.count { $0.outcome?.kind == kind } }
            return """
                <testsuite name="\(name.escaped)" tests="\(cases.count)" failures="\(count("failure"))" \
                errors="\(count("error"))" skipped="\(count("skipped"))" time="\(seconds)">
                \(cases.map { $0.text(in: name) }.joined(separator: "\n"))
                </testsuite>
                """
        }
    }

    package struct Case {
        let name: String
        let seconds: Double
        /// The outcome if the case did not pass; nil if it passed.
        package var outcome: (kind: String, message: String, text: String)?

        package init(_ name: String, _ seconds: Double = 0) { (self.name, self.seconds) = (name, seconds) }

        func text(in suite: String) -> String {
            let opening = "<testcase classname=\"stress.\(suite.escaped)\" name=\"\(name.escaped)\" time=\"\(seconds)\""
            guard let outcome else { return "\(opening)/>" }
            return
                "\(opening)><\(outcome.kind) message=\"\(outcome.message.escaped)\">\(outcome.text.escaped)</\(outcome.kind)></testcase>"
        }
    }

    private static func suite(_ row: Report.ScenarioRow, _ report: Report, _ skipped: [String: String]) -> Suite {
        // The first case has the scenario's time, because the invariants are checked together.
        var cases = [Case("runs to its end", row.seconds)]
        switch row.verdict {
        case .hang: cases[0].outcome = ("error", "a thread made no step", row.dump ?? "")
        case .unfinished: cases[0].outcome = ("error", "the process ended within the scenario, seed \(report.seed)", "")
        default: break
        }
        for invariant in row.invariants {
            var one = Case(invariant)
            if let violation = row.violations.first(where: { $0.invariant == invariant }) {
                let events = violation.events.isEmpty ? "" : "\nthe last events before it:\n\(violation.events.text)"
                one.outcome = ("failure", violation.message, "seed \(violation.seed)\(events)")
            } else if let reason = skipped[invariant] {
                one.outcome = ("skipped", reason, "")
            }
            cases.append(one)
        }
        for window in row.windows {
            var one = Case("window: \(window.name)")
            if window.hits == 0, row.verdict == .inconclusive {
                one.outcome = ("failure", "INCONCLUSIVE: the window was not hit", "seed \(report.seed)")
            }
            cases.append(one)
        }
        return Suite(row.name, row.seconds, cases)
    }

    private static func suite(_ memory: MemoryCourse) -> Suite {
        var one = Case(memory.invariant)
        if memory.hasGrown {
            one.outcome = ("failure", memory.text, "")
        } else if memory.growth == nil {
            one.outcome = ("skipped", memory.text, "")
        }
        return Suite("soak", memory.points.last?.seconds ?? 0, [one])
    }
}
