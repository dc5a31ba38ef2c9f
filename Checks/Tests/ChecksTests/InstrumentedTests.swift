// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import checks

@Suite("The instrumented copy: its edits are applied where they belong, or refused")
struct InstrumentedTests {
    private static let source = """
        func read() -> Int {
            let words = load()
            check(words)
            return words
        }

        func copy(
            _ count: Int
        ) -> Int {
            // A comment is no anchor.
            while true {
                let words = load()
            }
        }

        """

    private func copy(_ edits: String, added: [String: String] = [:]) throws -> [String: String] {
        var checkout = Checkout(["Sources/ConcurrentObserve/Property/Read.swift": Self.source])
        checkout.plant("Instrumented/Edits/Property.txt", "file Property/Read.swift\n\n" + edits)
        for (path, text) in added { checkout.plant("Instrumented/Added/" + path, text) }
        return try Instrumented(checkout).files
    }

    /// The lines of the copy without those that name a line of the library.
    private func lines(_ edits: String) throws -> [String] {
        let text = try #require(copy(edits)["Property/Read.edited.swift"])
        return text.lines.filter { !$0.hasPrefix("#sourceLocation") }.map(String.init)
    }

    @Test("The copy is one module: it imports none of the library's own, and lines keep their numbers")
    func imports() throws {
        let text = "public import ConcurrentObservePlatform\nimport Synchronization\n"
        let checkout = Checkout(["Sources/ConcurrentObserve/Property/Read.swift": text])
        #expect(try Instrumented(checkout).files["Property/Read.swift"] == "\nimport Synchronization\n")
    }

    @Test("Each kind of edit, at each kind of place; behind it stands which line follows")
    func kinds() throws {
        let edits = """
            in func read(
                point read.word at the top
                bug after let words = load(): a reader's word is torn
                    return 0
                insert before return words
                    count += 1
                fault point read.end at the end
            in func copy(
                insert in place of let words = load()
                    let words = 0
                bug before while true {: a wake-up is lost
                    let lost = true
                    return lost
            """
        #expect(
            try lines(edits).prefix(10).joined(separator: "\n") == """
                func read() -> Int {
                    inject("read.word")
                    let words = load()
                    if mutant(.aReadersWordIsTorn) { return 0 }
                    check(words)
                    count += 1
                    return words
                    faultPoint("read.end")
                }

                """
        )
        #expect(
            try lines(edits).dropFirst(10).joined(separator: "\n") == """
                func copy(
                    _ count: Int
                ) -> Int {
                    // A comment is no anchor.
                    if mutant(.aWakeUpIsLost) {
                        let lost = true
                        return lost
                    }
                    while true {
                        let words = 0
                    }
                }
                """
        )
        let text = try #require(copy(edits)["Property/Read.edited.swift"])
        let path = "Sources/ConcurrentObserve/Property/Read.swift"
        #expect(text.contains("    inject(\"read.word\")\n#sourceLocation(file: \"\(path)\", line: 2)\n    let words"))
        #expect(text.contains("let words = 0\n#sourceLocation(file: \"\(path)\", line: 13)\n    }\n"))
    }

    @Test("A bug takes the place of a line, or of a part of one, only while it is on; two replace one part")
    func wrongInPlace() throws {
        let edits = """
            in func read(
                bug in place of check(words): it is not checked
                    skip()
                bug instead of load(): it is loaded late
                    loadLate()
                bug instead of load(): it is loaded twice
                    loadTwice()
            """
        #expect(
            try lines(edits).prefix(8).joined(separator: "\n") == """
                func read() -> Int {
                    let words = (mutant(.itIsLoadedLate) ? loadLate() : (mutant(.itIsLoadedTwice) ? loadTwice() : load()))
                    if mutant(.itIsNotChecked) {
                        skip()
                    } else {
                        check(words)
                    }
                    return words
                """
        )
    }

    @Test("The list of seeded bugs has those of edits, and those elsewhere, each once")
    func bugs() throws {
        let edits = """
            bug elsewhere: a wake-up is lost
            in func read(
                bug before check(words): it's torn
                    return 0
                bug at the top: it's torn
                    return 1
            """
        #expect(
            try copy(edits)["SeededBug.swift"] == """
                /// A bug that is seeded in the library, to prove that a check finds it.
                public enum SeededBug: String, CaseIterable, Sendable {
                    case aWakeUpIsLost = "a wake-up is lost"
                    case itsTorn = "it's torn"
                }

                """
        )
    }

    @Test("A file without edits is copied as it is; one that is added stands beside")
    func others() throws {
        let files = try copy("", added: ["Property/Read+Wrong.swift": "func wrong() {}\n"])
        #expect(
            files.filter { $0.key != "SeededBug.swift" } == [
                "Property/Read.swift": Self.source, "Property/Read+Wrong.swift": "func wrong() {}\n",
            ]
        )
        #expect(
            message { _ = try copy("", added: ["Property/Read.swift": ""]) }
                == "Instrumented/Added/Property/Read.swift: the library has a file of this name"
        )
    }

    @Test(
        "An anchor that is missing or doubled, an edit without effect, and what is no edit are refused",
        arguments: [
            (
                "in func write(\n    point a at the top",
                "4: “func write(” occurs 0 times in Sources/ConcurrentObserve/Property/Read.swift"
            ),
            (
                "in func\n    point a at the top",
                "4: “func” occurs 2 times in Sources/ConcurrentObserve/Property/Read.swift"
            ),
            (
                "in func read(\n    point a after let word = load()",
                "4: “let word = load()” occurs 0 times in Sources/ConcurrentObserve/Property/Read.swift"
            ),
            (
                "in the file\n    point a after let words = load()",
                "4: “let words = load()” occurs 2 times in Sources/ConcurrentObserve/Property/Read.swift"
            ),
            (
                "in func copy(\n    point a before // A comment is no anchor.",
                "4: “// A comment is no anchor.” occurs 0 times in Sources/ConcurrentObserve/Property/Read.swift"
            ),
            (
                "in func read(\n    insert in place of check(words)\n        check(words)",
                "4: changes nothing in Sources/ConcurrentObserve/Property/Read.swift"
            ),
            ("in func read(\n    bug at the top: it is torn", "4: has no text"),
            ("in func read(\n    point a at the top\n        text", "4: a point has no text"),
            ("in func read(\n    bugs at the top: it is torn", "4: no edit: bugs at the top: it is torn"),
            ("in func read(\n    point a beside check(words)", "4: no edit: point a beside check(words)"),
            ("read\n", "3: neither a file, a scope, an edit nor its text"),
        ]
    )
    func refused(edits: String, reason: String) {
        #expect(message { _ = try copy(edits) } == "Instrumented/Edits/Property.txt:\(reason)")
    }

    @Test("A file that the library does not have is refused")
    func unknownFile() {
        #expect(
            message { _ = try copy("file Property/Write.swift\nin func f(\n    point a at the top") }
                == "Instrumented/Edits/Property.txt:5: the library has no file Property/Write.swift"
        )
    }

    @Test("In this repository every edit has its place")
    func repository() throws { _ = try Instrumented(.repository) }

    @Test("So has every edit of the optional parts, and each of their bugs names its tests")
    func parts() throws {
        let checkout = try Checkout.repository
        for folder in ["Instrumented/EtcdEdits/", "Instrumented/OptionalEdits/"] {
            let list = try EditList(checkout, below: folder)
            #expect(!list.bugs.isEmpty && list.bugs.allSatisfy { $0.filter != nil })
            for (file, edits) in list.edits {
                _ = try EditedFile(file, #require(checkout.text(file), "\(file)")).apply(edits)
            }
        }
    }

    @Test("The list of injection points is that of the copy")
    func injectionPoints() throws {
        let files = try Instrumented(.repository).files
        let injected = files.values.flatMap { file in
            file.matches(of: /(?:inject|faultPoint)\("([^"]+)"\)/).map { String($0.1) }
        }
        let list = try #require(
            files["Instrumentation/Instrumentation+Stress.swift"]?
                .firstMatch(of: /points: \[StaticString\] = \[([^\]]+)\]/)
        )
        #expect(Set(list.1.matches(of: /"([^"]+)"/).map { String($0.1) }) == Set(injected))
    }
}
