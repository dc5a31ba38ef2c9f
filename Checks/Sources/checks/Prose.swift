// SPDX-License-Identifier: Apache-2.0

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
    /// The lines that must not be too wide, by their index.
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
        var isString = false
        for index in lines.indices {
            if !isMarkdown, !lines[index].ranges(of: "\"\"\"").count.isMultiple(of: 2) { isString.toggle() }
            if isString { continue }
            let last = marker
            let content: Substring
            (marker, content) = isMarkdown ? ("", lines[index]) : Self.comment(lines[index])
            let text = content.drop { $0 == " " }
            if !isMarkdown && marker.isEmpty { isCode = false }
            if text.hasPrefix("```") { isCode.toggle() }
            let isTable = ["|", "#", "<", "!["].contains { text.hasPrefix($0) }
            // Markdown's other form of code.
            let isIndented = open == nil && content.hasPrefix(isMarkdown ? "    " : "     ")
            if !isTable, isMarkdown ? !isCode && !isIndented : marker.hasPrefix("//") { wrapped.insert(index) }
            if isIndented { continue }
            let isProse = !isCode && !text.hasPrefix("```") && !text.isEmpty && (isMarkdown || !marker.isEmpty)
            if !isProse || isTable || Self.isItem(text) || marker != last { close() }
            guard isProse else { continue }
            if open == nil { open = Paragraph(isSummary: marker == "///" && last != "///") }
            open!.append(text, line: index + 1)
            if isTable || marker == "code" { close() }
        }
        close()
    }

    /// Lines that are too wide. A line of one word, as a URL, or of one literal cannot be wrapped.
    /// The target of a Markdown link does not count.
    func wideLines(_ width: Int) -> [Int] {
        wrapped.sorted().filter { index in
            guard lines[index].utf8.count > width else { return false }
            let line = isMarkdown ? lines[index].replacing(/\]\([^)]*\)/, with: "]") : lines[index]
            var text = (isMarkdown ? line : Self.comment(lines[index]).text).drop { $0 == " " }
            // An item of a list that is one link cannot be wrapped either.
            if text.hasPrefix("- ") { text = text.dropFirst(2) }
            let isLiteral = "`\"".contains(text.first ?? " ") && text.first == text.last { !".,;:".contains($0) }
            return line.count > width && text.contains(" ") && !isLiteral
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
