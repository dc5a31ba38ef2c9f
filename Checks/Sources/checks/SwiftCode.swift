// SPDX-License-Identifier: Apache-2.0

/// A Swift source without its comments and strings, line by line, as words.
struct SwiftCode {
    /// A word of a line.
    struct Word: Equatable {
        let text: String
        /// Whether the word comes after a dot.
        let isMember: Bool
        /// The byte that follows the word; 0 at the end of the line.
        let next: UInt8
    }

    /// The code of each line. A string is `""`.
    let lines: [String]
    /// The words of each line.
    let words: [[Word]]

    init(_ text: String) {
        var scanner = Scanner()
        let code = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
            scanner.code(of: Array($0))
        }
        lines = code.map { String(decoding: $0, as: UTF8.self) }
        words = code.map(Self.words)
    }

    /// Returns the numbers of the lines, from 1, that have a word for which the closure returns
    /// true.
    func lines(where isMeant: (String) -> Bool) -> [Int] {
        words.indices.filter { words[$0].contains { isMeant($0.text) } }.map { $0 + 1 }
    }

    /// Returns the numbers of the lines, from 1, that import a module for which the closure returns
    /// true.
    func imports(of isMeant: (String) -> Bool) -> [Int] {
        lines(where: isMeant).filter { words[$0 - 1].contains { $0.text == "import" } }
    }

    private static func words(of line: [UInt8]) -> [Word] {
        var words: [Word] = []
        var index = 0
        while index < line.count {
            let start = index
            while index < line.count, isWordByte(line[index]) { index += 1 }
            if index > start {
                let isMember = start > 0 && line[start - 1] == UInt8(ascii: ".")
                let text = String(decoding: line[start..<index], as: UTF8.self)
                words.append(Word(text: text, isMember: isMember, next: index < line.count ? line[index] : 0))
            } else {
                index += 1
            }
        }
        return words
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: byte >= 0x80
        }
    }
}

/// The comments and strings that are open at the end of a line, and continue in the next line.
private struct Scanner {
    /// The number of nested comments.
    private var comments = 0
    private var isInText = false

    /// Returns the line without comments and strings.
    mutating func code(of line: [UInt8]) -> [UInt8] {
        let quote = UInt8(ascii: "\"")
        var code: [UInt8] = []
        var index = 0
        func stands(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Bool {
            index + 1 < line.count && line[index] == UInt8(ascii: first) && line[index + 1] == UInt8(ascii: second)
        }
        while index < line.count {
            let isTripleQuote = stands("\"", "\"") && index + 2 < line.count && line[index + 2] == quote
            if comments > 0 {
                if stands("/", "*") { comments += 1 } else if stands("*", "/") { comments -= 1 } else { index -= 1 }
                index += 2
            } else if isTripleQuote {
                isInText.toggle()
                index += 3
            } else if isInText {
                index += 1
            } else if stands("/", "/") {
                break
            } else if stands("/", "*") {
                comments = 1
                index += 2
            } else if line[index] == quote {
                index += 1
                while index < line.count, line[index] != quote { index += line[index] == UInt8(ascii: "\\") ? 2 : 1 }
                index += 1
                code += [quote, quote]
            } else {
                code.append(line[index])
                index += 1
            }
        }
        return code
    }
}
