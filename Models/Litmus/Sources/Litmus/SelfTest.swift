// SPDX-License-Identifier: Apache-2.0

/// Plants what the check must find.
public enum SelfTest {
    /// Whether everything that was planted is found; says what it has done.
    public static func run(on tree: SourceTree, _ harness: [String: String], say: (String) -> Void) -> Bool {
        var works = true
        func plant(_ what: String, _ check: (inout Report) -> Void) {
            var report = Report(showsExecutions: false)
            check(&report)
            if report.mismatches > 0 {
                say("found as it must be: \(what)")
            } else {
                say("BROKEN: does not find \(what)")
                works = false
            }
        }
        func missing(_ what: String, _ problems: [Problem]) {
            plant(what) { report in for problem in problems { report.add(problem) } }
        }

        let published = PublishedTest.all[0]
        plant("a published verdict that is not ours") {
            $0.compare(published: [
                PublishedTest(name: "planted", isAllowed: !published.isAllowed, test: published.test)
            ])
        }
        plant("a verdict of the literature that is not ours") {
            $0.compare(classics: [ClassicTest(ClassicTest.all[0].test, allowedBy: [])])
        }
        plant("a row that does not hold") { $0.judge(protocol: [("", Defect.all[0].test)]) }
        plant("a row that is not reached") { $0.judge(protocol: [("", neverReached)]) }
        plant("an ordering that no test needs") { $0.judgeWeakenings(of: [("", needless)]) }
        plant("a reason where a test needs the ordering") { $0.judgeWeakenings(of: [("", needed)]) }
        plant("a defect that is not found") {
            $0.judge(defects: [Defect(name: "planted", test: Protocol.all[0], found: [.armv80])])
        }
        let planted = SourceTree(
            file: "A.swift",
            text: "let a = x.load(ordering: .relaxed)\nlet b = y.load(ordering: .acquiring)\n"
        )
        missing(
            "another ordering in the code",
            Drift.problems(in: planted, tests: [step("let a =")], untested: []).filter { "\($0)".contains("relaxed") }
        )
        missing(
            "a line that is not there",
            Drift.problems(in: planted, tests: [step("let c =")], untested: []).filter { "\($0)".contains("0 lines") }
        )
        missing(
            "two lines for one step",
            Drift.problems(in: planted, tests: [step("let ")], untested: []).filter { "\($0)".contains("2 lines") }
        )
        missing(
            "a step of the table in no test",
            Coverage.problems(in: tree.article, tests: Protocol.all.filter { !$0.claim.contains("W3") })
        )
        missing("an article without the table", Coverage.problems(in: ""))
        missing("an ordering in no test", Drift.problems(in: planted, tests: [], untested: []))

        func mirror(_ text: String, in tree: SourceTree = planted) -> [Problem] {
            Harness.problems(in: ["planted.c": text], tree: tree)
        }
        let faithful = "//= A.swift … let b =\nload(&y, acquiring);\nstore(&z, 0, relaxed);  //= own: planted\n"
        missing("another ordering in the harness", mirror(faithful.replacing("acquiring", with: "relaxed")))
        missing("a line of the harness that mirrors none", mirror("load(&y, acquiring);\n"))
        missing("a line that the harness mirrors and that is not there", mirror(faithful.replacing("b =", with: "c =")))
        missing("a mirrored line without an ordering beside it", mirror("//= A.swift … let b =\n\n" + faithful))
        missing("a mirrored line at the end", mirror(faithful + "//= A.swift … let b =\n"))
        // The real one, and the real code: each of the harness's releases is compared.
        let weakened = harness.mapValues { text in
            text.split(separator: "\n", omittingEmptySubsequences: false)
                .map { $0.contains("//= own") ? $0 : $0.replacing(", releasing)", with: ", relaxed)") }
                .joined(separator: "\n")
        }
        missing("the harness without its releases", Harness.problems(in: weakened, tree: tree))
        if !Coverage.problems(in: tree.article).isEmpty
            || !Drift.problems(in: planted, tests: [step("let b =")], untested: []).isEmpty
            || !mirror(faithful).isEmpty
        {
            say("BROKEN: finds a difference where there is none")
            works = false
        }
        return works
    }

    private static func step(_ fragment: String) -> Test {
        Test("planted", [Test.Thread("one", [.load("x", .acquiring, into: "a").at("A.swift", fragment)])]) { _ in false
        }
    }

    private static let neverReached = Test(
        "planted",
        given: ["a": 2],
        [Test.Thread("one", [.load("x", .relaxed, into: "a")])],
        never: { _ in true }
    )

    private static let needless = step("planted")

    private static let needed = Test(
        "planted",
        given: ["a": 1],
        [
            Test.Thread("one", [.store("x", 1, .relaxed), .store("y", 1, .releasing)]),
            Test.Thread(
                "two",
                [
                    .load("y", .acquiring, into: "a").at("A.swift", "planted").keeps(
                        "acquiring → relaxed",
                        because: "planted"
                    ),
                    .load("x", .relaxed, into: "b"),
                ]
            ),
        ],
        never: { $0["b"] == 0 }
    )
}
