// SPDX-License-Identifier: Apache-2.0

/// The checker's report on all its input, as text, and how many results are not as expected.
public struct Report: Sendable {
    public private(set) var lines: [String] = []
    public private(set) var mismatches = 0
    /// Rows, weakenings that violate one, and defects, with what each took.
    public private(set) var kills: [Kill] = []
    private let showsExecutions: Bool

    /// - Parameter showsExecutions: Whether each violation is printed, as a table of threads.
    public init(showsExecutions: Bool) { self.showsExecutions = showsExecutions }

    private mutating func say(_ line: String) { lines.append(line) }

    private mutating func mismatch(_ line: String) {
        mismatches += 1
        lines.append("NOT AS EXPECTED: \(line)")
    }

    // MARK: Verdicts of others

    public mutating func compare(published: [PublishedTest]) {
        let wrong = published.filter { (Checker.find(in: $0.test, for: .instructions) != nil) != $0.isAllowed }
        let allowed = published.filter(\.isAllowed).count
        say(
            "AArch64, verdicts published with herdtools7: \(published.count - wrong.count) of \(published.count) agree"
                + " (\(allowed) allowed, \(published.count - allowed) forbidden)"
        )
        for (names, reason) in PublishedTest.unsupported {
            say("  not supported: \(names.joined(separator: ", ")): \(reason)")
        }
        for test in wrong { mismatch("\(test.name) is published as \(test.isAllowed ? "allowed" : "forbidden")") }
    }

    public mutating func compare(classics: [ClassicTest]) {
        var verdicts = 0
        for classic in classics {
            for target in Target.allCases {
                verdicts += 1
                let isAllowed = Checker.find(in: classic.test, for: target) != nil
                guard isAllowed != classic.allowed.contains(target) else { continue }
                mismatch("\(classic.test.name) is \(isAllowed ? "allowed" : "forbidden") by \(target.rawValue)")
            }
        }
        say("verdicts of the literature: \(classics.count) tests, \(verdicts) verdicts")
    }

    // MARK: The protocol

    public mutating func judge(protocol tests: [(variant: String, test: Test)]) {
        say("")
        say("| row | claim | | " + Target.allCases.map(\.rawValue).joined(separator: " | ") + " |")
        say("| --- | --- | --- |" + String(repeating: " --- |", count: Target.allCases.count))
        for (variant, test) in tests {
            let start = ContinuousClock.now
            let verdicts = Target.allCases.map { target in
                Checker.find(.reached, in: test, for: target) == nil
                    ? "not reached" : Checker.find(in: test, for: target) == nil ? "holds" : "violated"
            }
            say("| \(test.name) | \(test.claim) | \(variant) | " + verdicts.joined(separator: " | ") + " |")
            let holds = !verdicts.contains { $0 != "holds" }
            kills.append(Kill(row: Self.name(test, variant), holds: holds, since: start))
            guard !holds else { continue }
            mismatch("“\(test.name)” does not hold")
            for target in Target.allCases { show(Checker.find(in: test, for: target), target) }
        }
    }

    public mutating func judgeWeakenings(of tests: [(variant: String, test: Test)]) {
        struct Step: Hashable {
            let site: Site
            let change: String
        }
        var order: [Step] = []
        var breaks: [Step: [(name: String, targets: [Target], finding: Checker.Finding)]] = [:]
        var reasons: [Step: String] = [:]
        var seconds: [Step: Double] = [:]
        for (variant, test) in tests {
            for weakening in Weakening.all(of: test) {
                let step = Step(site: weakening.site, change: weakening.change)
                if breaks[step] == nil {
                    order.append(step)
                    breaks[step] = []
                }
                reasons[step] = reasons[step] ?? weakening.reason
                let start = ContinuousClock.now
                let isFirst = breaks[step]!.isEmpty
                let found = Target.allCases.compactMap { target in
                    Checker.find(in: weakening.test, for: target).map { (target, $0) }
                }
                if isFirst { seconds[step, default: 0] += Kill.seconds(since: start) }
                if let first = found.first {
                    let name = Self.name(test, variant)
                    breaks[step]!.append((name, found.map(\.0), first.1))
                }
            }
        }
        say("")
        for step in order {
            let name = "\(step.site.file) | \(step.site.fragment) | \(step.change)"
            if let first = breaks[step]!.first {
                let all = breaks[step]!.map { "\($0.name) (\($0.targets.map(\.rawValue).joined(separator: ", ")))" }
                say("violated | \(name) | \(all.joined(separator: "; "))")
                let change = "\(step.site.file): \(step.site.fragment): \(step.change)"
                kills.append(Kill(of: change, in: first.name, foundBy: first.targets, seconds: seconds[step]!))
                if reasons[step] != nil { mismatch("a test needs what is said to be stronger than needed: \(name)") }
                show(first.finding, first.targets[0])
            } else if let reason = reasons[step] {
                say("kept | \(name) | \(reason)")
            } else {
                mismatch("no test needs this ordering, and no reason is given: \(name)")
            }
        }
        let kept = order.filter { breaks[$0]!.isEmpty }.count
        say("weakenings: \(order.count), \(order.count - kept) of them violate a test, \(kept) are kept for a reason")
    }

    public mutating func judge(defects: [Defect]) {
        say("")
        for defect in defects {
            let start = ContinuousClock.now
            let findings = Target.allCases.map { ($0, Checker.find(in: defect.test, for: $0)) }
            let found = Set(findings.filter { $0.1 != nil }.map(\.0))
            let targets = Target.allCases.filter(found.contains)
            let names = targets.map(\.rawValue).joined(separator: ", ")
            say("a known defect: \(defect.name): found by \(names.isEmpty ? "none" : names)")
            kills.append(
                Kill(of: defect.name, in: defect.test.name, foundBy: targets, seconds: Kill.seconds(since: start))
            )
            if found != defect.found { mismatch("another set of models was expected to find: \(defect.name)") }
            if let first = findings.first(where: { $0.1 != nil }) { show(first.1, first.0) }
        }
    }

    // MARK: The code

    public mutating func compare(code tree: SourceTree) {
        say("")
        let problems = Drift.problems(in: tree) + Coverage.problems(in: tree.article)
        for problem in problems { add(problem) }
        let sites = Set(Protocol.all.flatMap(\.threads).flatMap(\.instructions).compactMap(\.site)).count
        say("orderings of the code: \(sites) steps of tests compared, \(Untested.all.count) in no test for a reason")
    }

    public mutating func compare(harness: [String: String], code tree: SourceTree) {
        for problem in Harness.problems(in: harness, tree: tree) { add(problem) }
        say("orderings of the harness for arm64: \(Harness.count(in: harness)) lines compared with the code")
    }

    mutating func add(_ problem: Problem) { mismatch("\(problem)") }

    private static func name(_ test: Test, _ variant: String) -> String {
        variant.isEmpty ? test.name : "\(test.name), \(variant)"
    }

    private mutating func show(_ finding: Checker.Finding?, _ target: Target) {
        guard showsExecutions, let finding else { return }
        say("    \(target.rawValue):")
        say(finding.table)
    }
}
