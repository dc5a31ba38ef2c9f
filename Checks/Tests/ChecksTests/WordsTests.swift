// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import checks

@Suite("Words: each forbidden one is found, and what is excepted is not")
struct WordsTests {
    private func violations(_ text: String, in file: String = "Tests/A.swift") -> [String] {
        Words(Checkout([file: text])).violations(in: file)
    }

    @Test(
        "A planted word, in each kind of text",
        arguments: [
            ("// Whoever waits.", "whoever -> who it is: the canceller, the caller, another thread"),
            ("let text = \"it was told\"", "told -> notify, deliver, report"),
            ("let toldTwice = 1", "told -> notify, deliver, report"),
            ("func rewirePath() {}", "rewire -> relink"),
            ("#define HEARD_ONCE 1", "heard -> receive"),
            ("struct Aftermath {}", "aftermath -> deferred actions, or a job of the deinit threads"),
            ("// It lets go of the lock.", "lets go of -> release, or retire"),
            ("// `life_give_back`", "life give back -> biased reference count"),
            ("/// The same, but later.", "/// The same -> what it is: a doc comment stands alone"),
        ]
    )
    func planted(line: String, violation: String) {
        #expect(violations("// In order.\n\n\(line)\n") == ["Tests/A.swift:3: \(violation)"])
    }

    @Test(
        "A planted pattern of sentences",
        arguments: [
            ("/// That of the list.", ["that", "that of"]),
            ("/// Those that are live.", ["those"]),
            ("/// Of each list.", ["of"]),
            ("/// For tests.", ["for"]),
            ("/// So many threads run.", ["so many"]),
            ("/// What it holds.", ["what"]),
            ("// It has one list alone.", ["alone"]),
            ("// The state stays, meanwhile: it waits.", ["meanwhile"]),
            ("// It begins anew (in vain).", ["in vain"]),
            ("// The list\n// is of the set.", ["is of"]),
            ("// Two lists, of which one is empty.", ["of which"]),
            ("/// Has `list` closed.", ["has X done"]),
            ("// The caller has the queue wait.", ["has X done"]),
            ("// It takes its list, and them, and it.", ["4 pronouns"]),
            ("let a = 1 // The first alone.", ["alone"]),
            ("// \(String(repeating: "long ", count: 20))", ["wider than 100 columns"]),
        ]
    )
    func sentences(text: String, patterns: [String]) {
        let found = violations("\(text)\n", in: "Scripts/A.swift")
        #expect(found.map { String($0.split(separator: ": ")[1].prefix { $0 != "-" }.dropLast()) } == patterns)
    }

    @Test(
        "A paragraph without a subject, in comments and literals of each kind of file",
        arguments: [
            ("Tests/A.swift", "/// Returns the list.\n///\n/// What it holds, that stays.", [3]),
            ("Sources/stress/A.swift", "let a = 1\n\n// Of each list.\nlet b = 2  // for tests", [3, 4]),
            ("Instrumented/A.swift", "// It waits.\n//\n// So many\n// threads run.\n", [3]),
            ("Checks/A.swift", "/// It waits.\n///\n/// - Parameter list: What it holds.\n", [3]),
            (
                "Checks/A.swift", "/// - Parameters:\n///   - a: Those that\n///     wait.\n/// - Returns: What.",
                [2, 4]
            ),
            ("Benchmarks/A.swift", "@Option(help: \"For the run.\")\nlet a = [\"It\", \"That it waits.\"]", [1, 2]),
            (
                "Examples/A.swift", "let a = \"\"\"\n    What waits.\n    What else.\n\n    Of each.\n    \"\"\"",
                [2, 5]
            ),
            ("Examples/a.py", "# It waits.\n\n# What it holds.\ndef a():\n    \"\"\"What it returns.\"\"\"", [3, 5]),
            ("Examples/a.py", "\"\"\"What it does.\n\nWhat else.\n\"\"\"\na = []  # of each server", [1, 3, 5]),
            ("Examples/a.js", "// Those that wait.\nconst a = 'What waits';", [1, 2]),
            ("Scripts/a.sh", "#!/bin/sh\n# What it is.\n\n# What waits.\nusage() { # what is wrong", [4, 5]),
            (".ci/run", "# It waits.\n#\n# For each step.", [3]), ("Scripts/a.awk", "# What it holds.", [1]),
            ("Models/a.pml", "// What is claimed.\nbyte a; /* of the list */\n/* That\n * of a list. */", [1, 2, 3]),
            ("Models/a.c", "/* It waits.\n\n   What it holds. */\n// Of each\nint a; /* It\n waits. */", [3, 4]),
            ("Models/a.h", "#define A 1  // for each thread\n/* It waits. */ /* It waits. */\n/* So many. */", [1, 3]),
        ]
    )
    func paragraphs(file: String, text: String, lines: [Int]) {
        let found = violations(text, in: file).filter { $0.hasSuffix("open with a noun or a verb") }
        #expect(found.map { Int($0.split(separator: ":")[1]) } == lines)
    }

    @Test("Scripts, C and models have the other patterns, too", arguments: ["a.sh", "a.py", "a.c", "a.pml"])
    func otherFiles(file: String) {
        let (mark, long) = (file == "a.sh" || file == "a.py" ? "#" : "//", String(repeating: "long ", count: 20))
        let text = "\(mark) It is alone.\n\(mark) \(long)\nwait(\"It is alone.\")\n"
        #expect(
            violations(text, in: "Scripts/\(file)") == [
                "Scripts/\(file):2: wider than 100 columns -> wrap it",
                "Scripts/\(file):1: alone -> say it with a verb, before the end",
            ]
        )
    }

    @Test(
        "Texts that only resemble such a paragraph",
        arguments: [
            ("A.swift", "// For example, it waits.\n// It is. Of those, one.\nlet a = [\"for\", \"of each\"]"),
            ("A.swift", "// It has the list\n// of each thread.\nfunc a(for: Int) {}\n/// It waits: what else."),
            ("A.swift", "let a = \"\"\"\n    It waits.\n    What else.\n    \"\"\"\n"),
            ("a.sh", "#!/bin/sh\n# It is what\n# of each waits.\necho \"$# what\""),
            ("a.c", "/* It\n   of */ int what;"),
            ("a.txt", "What it is."), ("A.md", "What it is."),
        ]
    )
    func innocentParagraphs(file: String, text: String) {
        #expect(violations(text, in: "Scripts/\(file)") == [])
    }

    @Test(
        "Sentences that only resemble a pattern",
        arguments: [
            "// It stands alone in the list.",
            "// The list has a name, and the list has run.", "// It takes its list. They take it.",
            "// `is of` and `that\n// of` are quoted.", "// It is. Of those, one.", "let text = \"// It is alone.\"",
            "// https://\(String(repeating: "a", count: 100))", "/// ```\n/// list(alone)\n/// ```", "is of no comment",
            "let text = 1 \(String(repeating: "+ 1", count: 40))", "let text = \"\"\"\n    // It is alone.\n    \"\"\"",
            "// The source has the value that runs.",
        ]
    )
    func innocentSentences(text: String) {
        #expect(violations("\(text)\n", in: "Scripts/A.swift") == [])
    }

    @Test("An article has the patterns of sentences and the width, outside code and tables")
    func articles() {
        let long = String(repeating: "long ", count: 30)
        func found(_ text: String) -> [String] { violations(text, in: "Scripts/A.md") }
        #expect(found("What it is.\n") == [])
        #expect(found("It waits\nmeanwhile.\n").count == 1)
        #expect(found("```swift\n\(long)\nmeanwhile.\n```\n| \(long) |\n") == [])
        #expect(found("See [it](\(String(repeating: "a", count: 100))) there.\n") == [])
        #expect(found("`\(long)`.\n") == [])
        #expect(found("Run\n\n    \(long)\n") == [])
        #expect(found("\n\(long)\n") == ["Scripts/A.md:2: wider than 100 columns -> wrap it"])
    }

    @Test("Files that are excepted have no sentences checked")
    func exceptedSentences() {
        #expect(violations("// It waits alone.\n", in: "Sources/ConcurrentObserveEtcd/Generated/A.swift") == [])
        #expect(violations("// It waits alone.\n", in: "Instruments/A.swift").count == 1)
    }

    @Test("A phrase that goes on in the next line is found where it begins")
    func acrossLines() {
        #expect(
            violations("// The caller lets\n// go of the lock.\n", in: "README.md") == [
                "README.md:1: lets go of -> release, or retire"
            ]
        )
    }

    @Test(
        "Words that only contain a forbidden one",
        arguments: [
            "return", "returned", "wireless", "shop", "storyteller", "planet", "posture", "hearth", "heartbeat",
            "/// Two objects share this:\n/// The same way.",
        ]
    )
    func innocent(text: String) {
        #expect(violations(text) == [])
    }

    @Test("A phrase is excepted as a whole, and in its file alone")
    func exceptedPhrases() {
        #expect(violations("// One after the other, in turn.") == [])
        #expect(violations("// It takes the turn.").count == 1)
        let exceptions = [Words.Exception("mailbox.hop", in: "Models", because: "a name")]
        func count(_ text: String, in file: String) -> Int {
            Words(Checkout([file: text]), exceptions: exceptions).violations(in: file).count
        }
        #expect(count("mailbox.hop", in: "Models/A.pml") == 0)
        #expect(count("mailbox.hop", in: "ModelsOfOthers/A.pml") == 1)
        #expect(count("a mailbox, its hop and one more hop", in: "Models/A.pml") == 2)
    }

    @Test("A folder is excepted with the suffix that the entry names")
    func exceptedFolders() {
        let exceptions = [Words.Exception(in: "Sources/A", suffix: ".swift", because: "a test")]
        let checkout = Checkout(["Sources/A/B.swift": "told", "Sources/A/B.md": "told", "Sources/AB/C.swift": "told"])
        let words = Words(checkout, exceptions: exceptions)
        #expect(words.files.filter { !words.violations(in: $0).isEmpty } == ["Sources/A/B.md", "Sources/AB/C.swift"])
    }

    @Test("Which files are read")
    func files() {
        let read = ["README.md", "Sources/A/A.docc/A.md", "Models/A.pml", "Scripts/a.sh"]
        let others = ["CHANGELOG.md", "Documentation/public-api.txt", "Tests/a.json"]
        #expect(
            Words(Checkout(Dictionary(uniqueKeysWithValues: (read + others).map { ($0, "") }))).files == read.sorted()
        )
    }

    @Test("In this repository a planted word is found, and nothing else is")
    func repository() throws {
        let checkout = try Checkout.repository
        let words = Words(checkout)
        #expect(words.files.flatMap(words.violations) == [])
        let planted = Words(checkout.with("Tests/Planted.swift", "// nobody\n"))
        #expect(
            planted.violations(in: "Tests/Planted.swift") == [
                "Tests/Planted.swift:1: nobody -> who it is: the canceller, the caller, another thread"
            ]
        )
    }
}
