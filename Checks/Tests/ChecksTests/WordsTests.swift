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

    @Test("In the library's comments no paragraph opens without a subject")
    func paragraphs() {
        let text = "/// Returns the list.\n///\n/// What it holds, that stays.\nlet a = 1\n\n// Of each list.\n"
        let found = violations(text, in: "Sources/ConcurrentObserve/A.swift")
        #expect(found.map { String($0.split(separator: ": ")[1].prefix { $0 != " " }) } == ["what", "of"])
        #expect(violations(text, in: "Tests/A.swift") == [])
    }

    @Test(
        "Sentences that only resemble a pattern",
        arguments: [
            "/// Returns the list.\n///\n/// What it holds, that stays.", "// What it holds.",
            "// It stands alone in the list.",
            "// The list has a name, and the list has run.", "// It takes its list. They take it.",
            "// `is of` and `that\n// of` are quoted.", "// That is. Of those, one.", "let text = \"// It is alone.\"",
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
