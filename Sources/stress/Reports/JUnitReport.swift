// SPDX-License-Identifier: Apache-2.0

/// Results as JUnit's XML: a suite for each scenario, a case for each of its invariants; a case for
/// each seeded bug and seed.
enum JUnitReport {
    static func text(_ report: Report) -> String {
        var suites = report.scenarios.map { suite($0, report) }
        if let memory = report.memory { suites.append(suite(memory)) }
        for engine in Kill.Engine.allCases {
            let kills = report.kills.filter { $0.engine == engine }
            if !kills.isEmpty { suites.append(suite(engine, kills)) }
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites name="stress" time="\(report.seconds)">
            \(suites.map(\.text).joined(separator: "\n"))
            </testsuites>

            """
    }

    private struct Suite {
        let name: String
        let seconds: Double
        let cases: [Case]

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

    private struct Case {
        let name: String
        var seconds = 0.0
        /// Nil: passed.
        var outcome: (kind: String, message: String, text: String)?

        func text(in suite: String) -> String {
            let opening = "<testcase classname=\"stress.\(suite.escaped)\" name=\"\(name.escaped)\" time=\"\(seconds)\""
            guard let outcome else { return "\(opening)/>" }
            return
                "\(opening)><\(outcome.kind) message=\"\(outcome.message.escaped)\">\(outcome.text.escaped)</\(outcome.kind)></testcase>"
        }
    }

    private static func suite(_ row: Report.ScenarioRow, _ report: Report) -> Suite {
        // The first case has the scenario's time: the invariants are checked together.
        var cases = [Case(name: "runs to its end", seconds: row.seconds)]
        switch row.verdict {
        case .hang: cases[0].outcome = ("error", "a thread made no step", row.dump ?? "")
        case .unfinished: cases[0].outcome = ("error", "the process ended within the scenario, seed \(report.seed)", "")
        default: break
        }
        for invariant in row.invariants {
            var one = Case(name: invariant)
            if let violation = row.violations.first(where: { $0.invariant == invariant }) {
                let events = violation.events.isEmpty ? "" : "\nthe last events before it:\n\(violation.events.text)"
                one.outcome = ("failure", violation.message, "seed \(violation.seed)\(events)")
            } else if invariant == Realtime.invariant, report.machine.sanitizer != Sanitizer.realtime.rawValue {
                one.outcome = ("skipped", "RealtimeSanitizer alone checks it", "")
            }
            cases.append(one)
        }
        for window in row.windows {
            var one = Case(name: "window: \(window.name)")
            if window.hits == 0, row.verdict == .inconclusive {
                one.outcome = ("failure", "INCONCLUSIVE: the window was not hit", "seed \(report.seed)")
            }
            cases.append(one)
        }
        return Suite(name: row.name, seconds: row.seconds, cases: cases)
    }

    private static func suite(_ memory: MemoryCourse) -> Suite {
        var one = Case(name: MemoryCourse.invariant)
        if memory.hasGrown {
            one.outcome = ("failure", memory.text, "")
        } else if memory.growth == nil {
            one.outcome = ("skipped", memory.text, "")
        }
        return Suite(name: "soak", seconds: memory.points.last?.seconds ?? 0, cases: [one])
    }

    private static func suite(_ engine: Kill.Engine, _ kills: [Kill]) -> Suite {
        let cases = kills.map { kill in
            var one = Case(
                name: "\(kill.mutant ?? "control"), \(kill.scenario), seed \(kill.seed)",
                seconds: kill.seconds
            )
            if kill.verdict == .absent { one.outcome = ("skipped", kill.text, "") }
            if kill.isFailure { one.outcome = ("failure", kill.text, kill.output ?? "") }
            return one
        }
        return Suite(name: "mutants, \(engine.title)", seconds: kills.reduce(0) { $0 + $1.seconds }, cases: cases)
    }
}
