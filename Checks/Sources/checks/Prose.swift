// SPDX-License-Identifier: Apache-2.0

/// The text of a file's comments and string literals, or of a Markdown file outside its code, by
/// paragraphs.
struct Prose {
    /// The way in which a file marks its prose.
    enum Form: Equatable {
        case markdown
        /// A comment begins with this mark. If the mark is `//`, a comment may also begin with
        /// `/*`.
        case code(mark: String)

        /// Returns nil for a file whose prose is not read.
        init?(of file: String) {
            func ends(_ suffixes: String...) -> Bool { suffixes.contains { file.hasSuffix($0) } }
            if ends(".md") {
                self = .markdown
            } else if ends(".swift", ".c", ".h", ".js", ".pml") {
                self = .code(mark: "//")
            } else if ends(".sh", ".awk", ".py", ".ci/run") {
                self = .code(mark: "#")
            } else {
                return nil
            }
        }
    }

    struct Word {
        /// The word in lower case, without punctuation. It is "`" for text in backticks.
        let text: String
        let line: Int
        /// Whether a punctuation mark follows the word.
        let endsClause: Bool
        /// Whether a full stop, a question mark or an exclamation mark follows the word.
        let endsSentence: Bool
        /// Whether the word may begin a sentence.
        let isCapital: Bool
    }

    struct Paragraph {
        enum Kind {
            /// The first paragraph of a doc comment.
            case summary
            /// Any other paragraph of a comment or a Markdown file.
            case text
            /// A paragraph of a string literal.
            case literal
        }

        let kind: Kind
        private(set) var words: [Word] = []
        private var isCode = false

        init(_ kind: Kind) { self.kind = kind }

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
                // The punctuation belongs to the last word of a text in backticks. The first one
                // has none.
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
    private let form: Form
    private let lines: [Substring]
    /// The indices of the lines that must not be too wide.
    private var wrapped: Set<Int> = []
    /// The paragraph to which the next line may belong.
    private var open: Paragraph?
    /// Whether a comment that began with `/*` is still open.
    private var isInBlock = false

    init(_ text: String, _ form: Form) {
        self.form = form
        lines = text.lines
        let isMarkdown = form == .markdown
        var marker: Substring = ""
        var isCode = false
        var isString = false
        for index in lines.indices {
            if !isMarkdown {
                if !lines[index].ranges(of: "\"\"\"").count.isMultiple(of: 2) { isString.toggle() }
                if isString {
                    appendString(index)
                    continue
                }
            }
            let last = marker
            let content: Substring
            (marker, content) = comment(lines[index])
            var text = content.drop { $0 == " " }
            if !isMarkdown && marker.isEmpty { isCode = false }
            if text.hasPrefix("```") { isCode.toggle() }
            let isTable = ["|", "#", "<", "!["].contains { text.hasPrefix($0) }
            // Indented code, the other form of code in Markdown.
            let isIndented = open == nil && content.hasPrefix(isMarkdown ? "    " : "     ")
            if !isTable, isMarkdown ? !isCode && !isIndented : !marker.isEmpty && marker != "code" {
                wrapped.insert(index)
            }
            if isIndented { continue }
            let isProse = !isCode && !text.hasPrefix("```") && !text.isEmpty && (isMarkdown || !marker.isEmpty)
            if !isProse || isTable || Self.isItem(text) || marker != last { close() }
            if !isMarkdown && (marker.isEmpty || marker == "code") { appendLiterals(index) }
            guard isProse else { continue }
            // The description of a parameter begins after its name.
            if !isMarkdown, text.hasPrefix("- "), let label = text.prefixMatch(of: /- (Parameter )?[\w`]+: +/) {
                text = text[label.range.upperBound...]
            }
            append(text, line: index + 1, marker == "///" && last != "///" ? .summary : .text)
            if isTable || marker == "code" { close() }
        }
        close()
    }

    private mutating func close() {
        if let paragraph = open { paragraphs.append(paragraph) }
        open = nil
    }

    private mutating func append(_ text: Substring, line: Int, _ kind: Paragraph.Kind) {
        if open == nil { open = Paragraph(kind) }
        open!.append(text, line: line)
    }

    /// Reads a line of a string literal of several lines.
    private mutating func appendString(_ index: Int) {
        let start = lines[index].firstRange(of: "\"\"\"")?.upperBound ?? lines[index].startIndex
        let text = lines[index][start...].drop { $0 == " " }
        if text.isEmpty || open?.kind != .literal { close() }
        if !text.isEmpty { append(text, line: index + 1, .literal) }
    }

    /// Reads the string literals of a line that begin with a capital letter, each as a paragraph.
    private mutating func appendLiterals(_ index: Int) {
        let parts = lines[index].split(omittingEmptySubsequences: false) { $0 == "\"" || $0 == "'" }
        for part in parts.dropFirst() where part.first?.isUppercase ?? false {
            close()
            append(part, line: index + 1, .literal)
            close()
        }
    }

    /// Returns the lines that are too wide. A line of one word, such as a URL, or of one literal
    /// cannot be wrapped. The target of a Markdown link does not count.
    func wideLines(_ width: Int) -> [Int] {
        wrapped.sorted().filter { index in
            guard lines[index].utf8.count > width else { return false }
            let isMarkdown = form == .markdown
            let line = isMarkdown ? lines[index].replacing(/\]\([^)]*\)/, with: "]") : lines[index]
            var text = line.drop { $0 == " " || !isMarkdown && "/#*".contains($0) }
            // A list item that consists of one link cannot be wrapped either.
            if text.hasPrefix("- ") { text = text.dropFirst(2) }
            let isLiteral = "`\"".contains(text.first ?? " ") && text.first == text.last { !".,;:".contains($0) }
            return line.count > width && text.contains(" ") && !isLiteral
        }.map { $0 + 1 }
    }

    /// Returns the comment of a line, and its marker: `//`, `///` or `#`. The marker is `/*` for
    /// each line of a comment that ends in a later line, and `code` for a comment after code or in
    /// one line.
    private mutating func comment(_ line: Substring) -> (marker: Substring, text: Substring) {
        guard case .code(let mark) = form else { return ("", line) }
        let text = line.drop { $0 == " " }
        if isInBlock { return block(text.drop { $0 == "*" && text.dropFirst().first != "/" }, "/*") }
        // The line of code that a line of the arm64 harness represents.
        if text.hasPrefix("//=") { return ("", "") }
        if text.hasPrefix(mark) {
            let marker = text.prefix { $0 == mark.last }
            return (marker, text.dropFirst(marker.count))
        }
        if mark == "//", text.hasPrefix("/*") { return block(text.dropFirst(2), "code") }
        for mark in mark == "//" ? ["//", "/*"] : [mark] {
            guard let start = line.firstRange(of: " \(mark) ") else { continue }
            let isCode = line[..<start.lowerBound].count { $0 == "\"" }.isMultiple(of: 2)
            guard isCode else { return ("", "") }
            let text = line[start.upperBound...]
            return mark == "/*" ? block(text, "code") : ("code", text)
        }
        return ("", "")
    }

    /// Reads a line of a comment that ends with `*/`.
    ///
    /// - Parameter marker: The marker of the line if the comment ends in it.
    private mutating func block(_ text: Substring, _ marker: Substring) -> (marker: Substring, text: Substring) {
        if !isInBlock { close() }
        guard let end = text.firstRange(of: "*/") else {
            isInBlock = true
            return ("/*", text)
        }
        isInBlock = false
        return (marker, text[..<end.lowerBound])
    }

    private static func isItem(_ text: Substring) -> Bool {
        let number = text.prefix { $0.isNumber }
        return ["- ", "* "].contains { text.hasPrefix($0) }
            || (!number.isEmpty && text.dropFirst(number.count).hasPrefix(". "))
    }
}
