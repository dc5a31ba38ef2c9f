// SPDX-License-Identifier: Apache-2.0

/// Finds words that this repository does not use in names, comments, strings and prose.
/// `Words+Forbidden.swift` has a better word for each. `Sentences` adds patterns of sentences.
///
/// A name is split into its words: `isReclaimed` and `is_reclaimed` are `is reclaimed`. Upper and
/// lower case are equal, and a phrase may continue in the next line.
struct Words {
    /// Words or phrases, with the words to say instead.
    struct Rule {
        let phrases: [[String]]
        let say: String

        /// Makes a rule.
        ///
        /// - Parameter phrases: The words or phrases, separated by commas.
        init(_ phrases: String, say: String) {
            self.phrases = phrases.split(separator: ",").map { Token.all(in: String($0)).map(\.word) }
            self.say = say
        }
    }

    /// A place in which a forbidden word may occur, and the reason.
    struct Exception {
        /// The file or folder; empty for all files.
        let path: String
        /// The end of the names of its files; empty for all files.
        let suffix: String
        /// The phrase to which the word belongs; empty for the whole text of the file.
        let phrase: [String]

        init(_ phrase: String = "", in path: String = "", suffix: String = "", because reason: String) {
            precondition(!reason.isEmpty, "an exception has its reason")
            self.path = path
            self.suffix = suffix
            self.phrase = Token.all(in: phrase).map(\.word)
        }

        func applies(to file: String) -> Bool {
            (path.isEmpty || file == path || file.hasPrefix(path + "/")) && file.hasSuffix(suffix)
        }
    }

    /// The folders and files that are read.
    static let places = [
        "Sources", "Tests", "Benchmarks", "Examples", "Instrumented", "Models", "Checks", "Scripts", "README.md",
        "ARCHITECTURE.md", "CONTRIBUTING.md", "Package.swift", ".ci/run",
    ]

    static let suffixes = [
        ".swift", ".md", ".c", ".h", ".pml", ".txt", ".sh", ".awk", ".py", ".js", ".html", ".css", ".plist", ".supp",
        ".ci/run",
    ]

    let checkout: Checkout
    private let exceptions: [Exception]
    /// The phrases, by their first word.
    private let phrases: [String: [(phrase: [String], say: String)]]

    init(_ checkout: Checkout, rules: [Rule] = Self.forbidden, exceptions: [Exception] = Self.exceptions) {
        self.checkout = checkout
        self.exceptions = exceptions
        phrases = Dictionary(
            grouping: rules.flatMap { rule in rule.phrases.map { (phrase: $0, say: rule.say) } },
            by: { $0.phrase[0] }
        )
    }

    func check() throws -> String {
        let found = files.flatMap(violations)
        if !found.isEmpty { throw Failure(found + ["\(found.count) words above"]) }
        return "\(files.count) files"
    }

    var files: [String] {
        checkout.tracked.filter { path in
            Self.places.contains { path == $0 || path.hasPrefix($0 + "/") }
                && Self.suffixes.contains { path.hasSuffix($0) }
        }.sorted()
    }

    /// Returns one line for each forbidden word of a file.
    func violations(in file: String) -> [String] {
        let excepted = exceptions.filter { $0.applies(to: file) }
        guard !excepted.contains(where: { $0.phrase.isEmpty }), let text = checkout.text(file) else { return [] }
        let tokens = Token.all(in: text)
        let allowed = excepted.map(\.phrase)
        return tokens.indices.flatMap { index in
            (phrases[tokens[index].word] ?? []).filter { rule in
                stands(rule.phrase, at: index, in: tokens)
                    && !allowed.contains { isPart(index, of: $0, in: tokens) }
            }.map { "\(file):\(tokens[index].line): \($0.phrase.joined(separator: " ")) -> \($0.say)" }
        } + openings(of: text, in: file)
            + (Sentences(of: text, in: file)?.violations() ?? [])
    }

    /// Returns the doc comments that cannot be understood without another one.
    private func openings(of text: String, in file: String) -> [String] {
        let lines = text.lines.map { $0.drop { $0 == " " } }
        return lines.indices.filter { index in
            lines[index].hasPrefix("/// The same") && (index == 0 || !lines[index - 1].hasPrefix("///"))
        }.map { "\(file):\($0 + 1): /// The same -> what it is: a doc comment stands alone" }
    }

    private func stands(_ phrase: [String], at start: Int, in tokens: [Token]) -> Bool {
        guard start >= 0, start + phrase.count <= tokens.count else { return false }
        return phrase.indices.allSatisfy { tokens[start + $0].word == phrase[$0] }
    }

    /// Returns whether the word at an index belongs to this phrase.
    private func isPart(_ index: Int, of phrase: [String], in tokens: [Token]) -> Bool {
        phrase.indices.contains { phrase[$0] == tokens[index].word && stands(phrase, at: index - $0, in: tokens) }
    }
}

/// A word of a text, in lower case, with the number of its line.
struct Token {
    let word: String
    let line: Int

    /// Returns the words of a text. A name is split into its words.
    static func all(in text: String) -> [Token] {
        var tokens: [Token] = []
        var word: [UInt8] = []
        var line = 1
        var wasLower = false
        func end() {
            if !word.isEmpty { tokens.append(Token(word: String(decoding: word, as: UTF8.self), line: line)) }
            word.removeAll(keepingCapacity: true)
        }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"):
                word.append(byte)
                wasLower = true
            case UInt8(ascii: "A")...UInt8(ascii: "Z"):
                if wasLower { end() }
                word.append(byte | 0x20)
                wasLower = false
            default:
                end()
                wasLower = false
                if byte == UInt8(ascii: "\n") { line += 1 }
            }
        }
        end()
        return tokens
    }
}
