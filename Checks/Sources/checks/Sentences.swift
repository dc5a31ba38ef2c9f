// SPDX-License-Identifier: Apache-2.0

/// Finds sentence patterns that are hard to read, in comments and in Markdown files. In string
/// literals it finds only paragraphs without a subject.
///
/// Text in backticks counts as one word, whatever it contains.
struct Sentences {
    /// The folders and files that are not read, each with the reason.
    static let exceptions = [
        Words.Exception(in: "Sources/ConcurrentObserveEtcd/Generated", because: "made from etcd's files"),
        Words.Exception(in: "Checks/Tests/ChecksTests/WordsTests.swift", because: "plants these patterns"),
    ]

    /// The largest width of a comment or of a Markdown paragraph.
    static let width = 100

    /// First words of a paragraph that has no subject, in a comment or a string literal.
    private static let openers = ["that", "those", "of", "for", "so many", "what"].map(Self.phrase)

    /// Phrases that begin with one of these words, and may begin a paragraph, each with the reason.
    private static let otherOpeners = [Words.Exception("for example", because: "a sentence follows")]
    private static let trailing = ["alone", "meanwhile", "anew", "in vain"].map(Self.phrase)
    private static let genitives = ["is of", "that of", "of which"].map(Self.phrase)
    private static let pronouns: Set = ["it", "its", "they", "them", "their"]
    /// The words that begin the object of the causative.
    private static let determiners: Set = [
        "the", "a", "an", "its", "their", "each", "every", "all", "what", "another", "it", "them", "one", "this", "`",
    ]
    /// The verbs that end the causative, as in `has a thread run`.
    private static let caused: Set = ["be", "come", "run", "begin", "wait", "do", "done"]

    /// The words after which a verb does not belong to the causative.
    private static let separate: Set = [
        "to", "that", "which", "who", "whatever", "of", "and", "may", "can", "must", "will", "is", "are",
    ]

    private static func phrase(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }

    let file: String
    private let form: Prose.Form
    private let prose: Prose

    /// Returns nil for a file that the check does not read.
    init?(of text: String, in file: String) {
        guard let form = Prose.Form(of: file), !Self.exceptions.contains(where: { $0.applies(to: file) })
        else { return nil }
        self.file = file
        self.form = form
        prose = Prose(text, form)
    }

    /// Returns one line for each pattern in the file.
    func violations() -> [String] {
        let openings = prose.paragraphs.flatMap(opening)
        let wide = prose.wideLines(Self.width).map { "\(file):\($0): wider than \(Self.width) columns -> wrap it" }
        let paragraphs = prose.paragraphs.filter { $0.kind != .literal }
        return wide + openings + paragraphs.flatMap { $0.sentences.flatMap(violations) }
    }

    private func opening(of paragraph: Prose.Paragraph) -> [String] {
        guard form != .markdown, let sentence = paragraph.sentences.first,
            paragraph.kind != .literal || sentence[0].isCapital,
            !Self.otherOpeners.contains(where: { $0.applies(to: file) && stands($0.phrase, at: 0, in: sentence) })
        else { return [] }
        return Self.openers.filter { stands($0, at: 0, in: sentence) }
            .map { line($0.joined(separator: " "), at: sentence[0], "open with a noun or a verb") }
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

    /// Returns whether a causative such as `Has the queue wait` or `has … be done` begins here,
    /// with few words in between. `It has a name` is a possession.
    private func isCausative(at start: Int, in sentence: [Prose.Word]) -> Bool {
        guard ["has", "have", "having"].contains(sentence[start].text), start + 1 < sentence.count,
            Self.determiners.contains(sentence[start + 1].text)
        else { return false }
        if start == 0 && sentence[0].text == "has" { return true }
        let clause = sentence[(start + 1)...].prefix(7)
        let length = (clause.firstIndex { $0.endsClause } ?? clause.endIndex - 1) - start
        let rest = clause.prefix(length).dropFirst()
        return rest.contains { Self.caused.contains($0.text) } && !rest.contains { Self.separate.contains($0.text) }
    }
}
