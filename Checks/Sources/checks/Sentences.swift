// SPDX-License-Identifier: Apache-2.0

/// Finds sentence patterns that are hard to read, in comments of Swift files and in Markdown files.
///
/// Text in backticks counts as one word, whatever it contains.
struct Sentences {
    /// Folders and files that are not read, each with its reason.
    static let exceptions = [
        Words.Exception(in: "Sources/ConcurrentObserve", because: "its comments are still to be rewritten"),
        Words.Exception(in: "Instrumented", because: "its comments are still to be rewritten"),
        Words.Exception(in: "Models", because: "its comments are still to be rewritten"),
        Words.Exception(in: "Checks", because: "its comments are still to be rewritten"),
        Words.Exception(in: "README.md", because: "its comments are still to be rewritten"),
        Words.Exception(in: "ARCHITECTURE.md", because: "its comments are still to be rewritten"),
        Words.Exception(in: "CONTRIBUTING.md", because: "its comments are still to be rewritten"),
        Words.Exception(in: "Sources/ConcurrentObserveEtcd/Generated", because: "made from etcd's files"),
        Words.Exception(in: "Checks/Tests/ChecksTests/WordsTests.swift", because: "plants these patterns"),
    ]

    /// The most columns of a comment or of a Markdown paragraph.
    static let width = 100

    private static let openers = ["that", "those", "of", "for", "so many", "what"].map(Self.phrase)
    private static let trailing = ["alone", "meanwhile", "anew", "in vain"].map(Self.phrase)
    private static let genitives = ["is of", "that of", "of which"].map(Self.phrase)
    private static let pronouns: Set = ["it", "its", "they", "them", "their"]
    private static let determiners: Set = [
        "the", "a", "an", "its", "their", "each", "every", "all", "what", "another", "it", "them", "one", "this",
        "`",
    ]
    /// Verbs that end the causative "has a thread run".
    private static let caused: Set = ["be", "come", "run", "begin", "wait", "do", "done"]

    private static func phrase(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }

    let file: String
    let prose: Prose

    init(of text: String, in file: String) {
        self.file = file
        prose = Prose(text, isMarkdown: file.hasSuffix(".md"))
    }

    static func reads(_ file: String) -> Bool {
        (file.hasSuffix(".swift") || file.hasSuffix(".md")) && !exceptions.contains { $0.applies(to: file) }
    }

    /// One line for each pattern that stands in the file.
    func violations() -> [String] {
        prose.wideLines(Self.width).map { "\(file):\($0): wider than \(Self.width) columns -> wrap it" }
            + prose.paragraphs.flatMap { paragraph in
                let sentences = paragraph.sentences
                return (paragraph.isSummary ? sentences.first.map(opening) ?? [] : []) + sentences.flatMap(violations)
            }
    }

    private func opening(of summary: [Prose.Word]) -> [String] {
        let found = Self.openers.first { stands($0, at: 0, in: summary) }.map { $0.joined(separator: " ") }
        return found.map { [line($0, at: summary[0], "open with a noun or a verb")] } ?? []
    }

    private func violations(in sentence: [Prose.Word]) -> [String] {
        let phrases = sentence.indices.flatMap { index in
            Self.genitives.filter { stands($0, at: index, in: sentence) }
                .map { line($0.joined(separator: " "), at: sentence[index], "use a noun or a verb") }
                + Self.trailing.filter { stands($0, at: index, in: sentence, isTrailing: true) }
                .map { line($0.joined(separator: " "), at: sentence[index], "say it with a verb, before the end") }
        }
        let causative = sentence.indices.first { isCausative(at: $0, in: sentence) }
        let count = sentence.count { Self.pronouns.contains($0.text) }
        return phrases
            + (causative.map { [line("has X done", at: sentence[$0], "makes, schedules, asks to")] } ?? [])
            + (count >= 4 ? [line("\(count) pronouns", at: sentence[0], "name the nouns, or split the sentence")] : [])
    }

    private func line(_ pattern: String, at word: Prose.Word, _ say: String) -> String {
        "\(file):\(word.line): \(pattern) -> \(say)"
    }

    private func stands(
        _ phrase: [String],
        at start: Int,
        in sentence: [Prose.Word],
        isTrailing: Bool = false
    ) -> Bool {
        guard start + phrase.count <= sentence.count else { return false }
        let words = sentence[start..<(start + phrase.count)]
        return words.map(\.text) == phrase && words.dropLast().allSatisfy { !$0.endsClause }
            && (!isTrailing || words.last!.endsClause || start + phrase.count == sentence.count)
    }

    /// "Has the queue wait", or "has … be done" with few words between. "Has a name" is possession.
    private func isCausative(at start: Int, in sentence: [Prose.Word]) -> Bool {
        guard ["has", "have", "having"].contains(sentence[start].text), start + 1 < sentence.count,
            Self.determiners.contains(sentence[start + 1].text)
        else { return false }
        if start == 0 && sentence[0].text == "has" { return true }
        let clause = sentence[(start + 1)...].prefix(7)
        let length = (clause.firstIndex { $0.endsClause } ?? clause.endIndex - 1) - start
        let rest = clause.prefix(length).dropFirst()
        return rest.contains { Self.caused.contains($0.text) } && !rest.contains { ["to", "that"].contains($0.text) }
    }
}

/// The text of a file's comments, or of a Markdown file outside its code, by paragraphs.
struct Prose {
    struct Word {
        /// In lower case, without punctuation; "`" for text in backticks.
        let text: String
        let line: Int
        /// A punctuation mark follows it.
        let endsClause: Bool
        /// A full stop, a question mark or an exclamation mark follows it.
        let endsSentence: Bool
        /// It may begin a sentence.
        let isCapital: Bool
    }

    struct Paragraph {
        /// It begins a doc comment.
        let isSummary: Bool
        private(set) var words: [Word] = []
        private var isCode = false

        init(isSummary: Bool) { self.isSummary = isSummary }

        mutating func append(_ text: Substring, line: Int) {
            for raw in text.split(separator: " ") {
                let ticks = raw.utf8.count { $0 == UInt8(ascii: "`") }
                let wasCode = isCode
                if !ticks.isMultiple(of: 2) { isCode.toggle() }
                if wasCode && isCode { continue }
                let bytes = raw.utf8.drop { Self.isOpening($0) }
                let marks = raw.utf8.reversed().prefix { !Self.isLetter($0) && $0 != UInt8(ascii: "`") }
                let word =
                    ticks > 0 ? "`" : String(Substring(bytes.dropLast(min(marks.count, bytes.count)))).lowercased()
                // The word at which text in backticks ends has its punctuation; the first has none.
                let endsClause = !isCode && marks.contains { ".,;:!?)".utf8.contains($0) }
                let endsSentence = !isCode && marks.contains { ".!?".utf8.contains($0) }
                let isCapital = raw.first.map { !$0.isLowercase && !$0.isNumber } ?? false
                if ticks > 0, wasCode, let first = words.popLast() {
                    words.append(
                        Word(
                            text: "`",
                            line: first.line,
                            endsClause: endsClause,
                            endsSentence: endsSentence,
                            isCapital: first.isCapital
                        )
                    )
                } else if !word.isEmpty {
                    words.append(
                        Word(
                            text: word,
                            line: line,
                            endsClause: endsClause,
                            endsSentence: endsSentence,
                            isCapital: isCapital
                        )
                    )
                }
            }
        }

        var sentences: [[Word]] {
            var sentences: [[Word]] = []
            var sentence: [Word] = []
            for (index, word) in words.enumerated() {
                sentence.append(word)
                if word.endsSentence, index + 1 == words.count || words[index + 1].isCapital {
                    sentences.append(sentence)
                    sentence = []
                }
            }
            return sentence.isEmpty ? sentences : sentences + [sentence]
        }

        private static func isLetter(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: byte >= 0x80
            }
        }

        private static func isOpening(_ byte: UInt8) -> Bool { "(*_\"[".utf8.contains(byte) }
    }

    private(set) var paragraphs: [Paragraph] = []
    private let lines: [Substring]
    private let isMarkdown: Bool
    /// The lines of prose, by their index.
    private var wrapped: Set<Int> = []

    init(_ text: String, isMarkdown: Bool) {
        lines = text.lines
        self.isMarkdown = isMarkdown
        var open: Paragraph?
        var marker: Substring = ""
        var isCode = false
        func close() {
            if let paragraph = open { paragraphs.append(paragraph) }
            open = nil
        }
        for index in lines.indices {
            let last = marker
            let content: Substring
            (marker, content) = isMarkdown ? ("", lines[index]) : Self.comment(lines[index])
            let text = content.drop { $0 == " " }
            if !isMarkdown && marker.isEmpty { isCode = false }
            if text.hasPrefix("```") { isCode.toggle() }
            // Markdown's other form of code: an indented block.
            if open == nil, content.hasPrefix(isMarkdown ? "    " : "     ") { continue }
            let isTable = text.hasPrefix("|") || text.hasPrefix("#")
            let isProse = !isCode && !text.hasPrefix("```") && !text.isEmpty && (isMarkdown || !marker.isEmpty)
            if !isProse || isTable || Self.isItem(text) || marker != last { close() }
            guard isProse else { continue }
            if !isTable { wrapped.insert(index) }
            if open == nil { open = Paragraph(isSummary: marker == "///" && last != "///") }
            open!.append(text, line: index + 1)
            if isTable || marker == "code" { close() }
        }
        close()
    }

    /// Lines that are too wide. A line of a table, of one word, as a URL, or of one literal cannot be
    /// wrapped.
    func wideLines(_ width: Int) -> [Int] {
        lines.indices.filter { index in
            guard lines[index].utf8.count > width, lines[index].count > width else { return false }
            let (marker, comment) = isMarkdown ? ("", lines[index]) : Self.comment(lines[index])
            let text = comment.drop { $0 == " " }
            if isMarkdown ? !wrapped.contains(index) : !marker.hasPrefix("//") { return false }
            let isLiteral = "`\"".contains(text.first ?? " ") && text.first == text.last
            return text.contains(" ") && !isLiteral && !["|", "[", "!["].contains { text.hasPrefix($0) }
        }.map { $0 + 1 }
    }

    /// A line's comment and what marks it: `//`, `///`, or `code` if code is before it.
    private static func comment(_ line: Substring) -> (marker: Substring, text: Substring) {
        let text = line.drop { $0 == " " }
        if text.hasPrefix("//") {
            let marker = text.prefix { $0 == "/" }
            return (marker, text.dropFirst(marker.count))
        }
        guard let start = line.firstRange(of: " // ") else { return ("", "") }
        let quotes = line[..<start.lowerBound].count { $0 == "\"" }
        return quotes.isMultiple(of: 2) ? ("code", line[start.upperBound...]) : ("", "")
    }

    private static func isItem(_ text: Substring) -> Bool {
        let number = text.prefix { $0.isNumber }
        return ["- ", "* "].contains { text.hasPrefix($0) }
            || (!number.isEmpty && text.dropFirst(number.count).hasPrefix(". "))
    }
}
