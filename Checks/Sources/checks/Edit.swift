// SPDX-License-Identifier: Apache-2.0

/// One place at which the instrumented copy of the library differs from the library.
/// `Instrumented/README.md` has the format.
struct Edit {
    enum Kind: Equatable {
        /// A seeded bug: the text runs while the bug of this name is on.
        case bug(String)
        /// A point at which a thread can be delayed, and at which the explorer decides who runs.
        case point(String)
        /// Such a point, but only in programs of the explorer that allow faults.
        case faultPoint(String)
        /// The text as it is.
        case insert
    }

    /// Where, within the scope. An anchor is one line or several, each without its indentation.
    enum Place: Equatable {
        case top
        case end
        case before([String])
        case after([String])
        case replacing([String])
        /// A part of a line. Of a bug: the expression that its text takes the place of.
        case part(String)
    }

    /// The file of edits and the line: what an error begins with.
    let origin: String
    /// Parts of lines, each inside the block that the one before it begins. Empty: the whole file.
    let scope: [String]
    let kind: Kind
    let place: Place
    fileprivate(set) var text: [String] = []

    /// The lines that are written into the copy, without their indentation.
    var lines: [String] {
        switch kind {
        case .bug(let name):
            let isOn = "if mutant(.\(Self.caseName(name))) {"
            if case .part(let right) = place { return ["(mutant(.\(Self.caseName(name))) ? \(text[0]) : \(right))"] }
            if case .replacing(let right) = place {
                return [isOn] + text.map { "    " + $0 } + ["} else {"] + right.map { "    " + $0 } + ["}"]
            }
            return text.count == 1 ? ["\(isOn) \(text[0]) }"] : [isOn] + text.map { "    " + $0 } + ["}"]
        case .point(let name): return ["inject(\"\(name)\")"]
        case .faultPoint(let name): return ["faultPoint(\"\(name)\")"]
        case .insert: return text
        }
    }

    /// "a mailbox's wake-up is lost": `aMailboxsWakeUpIsLost`.
    static func caseName(_ name: String) -> String {
        let words = name.filter { $0 != "'" }.split { !$0.isLetter && !$0.isNumber }
        return words.enumerated().map { $0 == 0 ? String($1) : $1.prefix(1).uppercased() + $1.dropFirst() }.joined()
    }
}

extension Edit {
    /// Begins the line of a seeded bug whose wrong text is in a file of its own, or in an `insert`.
    private static let elsewhere = "bug elsewhere: "

    /// The names of all seeded bugs of a file of edits.
    static func bugs(_ contents: String) -> [String] {
        contents.lines.compactMap { $0.wholeMatch(of: /(?:bug elsewhere|    bug .+): (.+)/).map { String($0.1) } }
    }

    /// The edits of one file of edits, by the file of the library that they change.
    static func parse(_ path: String, _ contents: String) throws -> [String: [Edit]] {
        var edits: [String: [Edit]] = [:]
        var file: String?
        var scope: [String] = []
        for (index, line) in contents.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let origin = "\(path):\(index + 1)"
            if line.isEmpty || line.hasPrefix("#") || line.hasPrefix(elsewhere) {
                continue
            } else if line.hasPrefix("file ") {
                (file, scope) = (String(line.dropFirst(5)), [])
            } else if line == "in the file" {
                scope = []
            } else if line.hasPrefix("in ") {
                scope = line.dropFirst(3).components(separatedBy: " > ")
            } else if let file, line.hasPrefix("        ") {
                guard let last = edits[file]?.indices.last else { throw Failure("\(origin): text of no edit") }
                edits[file]![last].text.append(String(line.dropFirst(8)))
            } else if let file, line.hasPrefix("    ") {
                edits[file, default: []].append(try Edit(line.dropFirst(4), scope, origin))
            } else {
                throw Failure("\(origin): neither a file, a scope, an edit nor its text")
            }
        }
        for edit in edits.values.joined() where edit.hasText == edit.text.isEmpty {
            throw Failure("\(edit.origin): \(edit.hasText ? "has no text" : "a point has no text")")
        }
        return edits
    }

    private var hasText: Bool {
        switch kind {
        case .bug, .insert: true
        case .point, .faultPoint: false
        }
    }

    private init(_ header: Substring, _ scope: [String], _ origin: String) throws {
        let form = /bug (.+): (.+)|(point|fault point) (\S+) (.+)|insert (.+)/
        guard let (_, bug, name, points, point, atPoint, inserted) = header.wholeMatch(of: form)?.output,
            let place = Place(bug ?? atPoint ?? inserted ?? "")
        else { throw Failure("\(origin): no edit: \(header)") }
        let kind: Kind =
            if let name {
                .bug(String(name))
            } else if let point {
                points == "point" ? .point(String(point)) : .faultPoint(String(point))
            } else {
                .insert
            }
        (self.origin, self.scope, self.kind, self.place) = (origin, scope, kind, place)
    }
}

extension Edit.Place {
    fileprivate init?(_ text: Substring) {
        func anchor(_ word: String) -> [String]? {
            text.hasPrefix(word + " ") ? text.dropFirst(word.count + 1).components(separatedBy: " ⏎ ") : nil
        }
        if text == "at the top" {
            self = .top
        } else if text == "at the end" {
            self = .end
        } else if let lines = anchor("before") {
            self = .before(lines)
        } else if let lines = anchor("after") {
            self = .after(lines)
        } else if let lines = anchor("instead of") {
            self = .part(lines[0])
        } else if let lines = anchor("in place of") {
            self = .replacing(lines)
        } else {
            return nil
        }
    }
}
