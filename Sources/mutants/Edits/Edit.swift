// SPDX-License-Identifier: Apache-2.0

/// One place at which a copy of the sources differs from the original. `Instrumented/README.md` has
/// the format.
struct Edit {
    enum Kind: Equatable {
        /// A seeded bug. The text runs while the bug of this name is on.
        case bug(String)
        /// A point at which a thread can be delayed, and at which the explorer decides who runs.
        case point(String)
        /// A point as above, but only in programs of the explorer that allow faults.
        case faultPoint(String)
        /// Inserts the text as it is.
        case insert
    }

    /// The place within the scope. An anchor is one line or several, each without its indentation.
    enum Place: Equatable {
        case top
        case end
        case before([String])
        case after([String])
        case replacing([String])
        /// A part of a line. For a bug, it is the expression that the text replaces.
        case part(String)
    }

    /// The file of edits and the line of the edit. Error messages begin with it.
    let origin: String
    /// Parts of lines, from the outermost block to the innermost. Each is searched in the block
    /// that begins with the one before it. If this is empty, the scope is the whole file.
    let scope: [String]
    let kind: Kind
    let place: Place
    fileprivate(set) var text: [String] = []

    /// The lines that are written into the copy, without their indentation.
    var lines: [String] {
        switch kind {
        case .bug(let name):
            let isOn = "if mutant(.\(Self.identifier(name))) {"
            if case .part(let right) = place { return ["(mutant(.\(Self.identifier(name))) ? \(text[0]) : \(right))"] }
            if case .replacing(let right) = place {
                return [isOn] + text.map { "    " + $0 } + ["} else {"] + right.map { "    " + $0 } + ["}"]
            }
            return text.count == 1 ? ["\(isOn) \(text[0]) }"] : [isOn] + text.map { "    " + $0 } + ["}"]
        case .point(let name): return ["inject(\"\(name)\")"]
        case .faultPoint(let name): return ["faultPoint(\"\(name)\")"]
        case .insert: return text
        }
    }

    /// Returns the name of a bug's case as code writes it. A single word is put in backticks, since
    /// it may be a keyword.
    static func identifier(_ name: String) -> String {
        let word = caseName(name)
        return word.allSatisfy(\.isLowercase) ? "`\(word)`" : word
    }

    /// Returns a bug's name in camel case: "a mailbox's wake-up is lost" becomes
    /// `aMailboxsWakeUpIsLost`.
    static func caseName(_ name: String) -> String {
        let words = name.filter { $0 != "'" }.split { !$0.isLetter && !$0.isNumber }
        return words.enumerated().map { $0 == 0 ? String($1) : $1.prefix(1).uppercased() + $1.dropFirst() }.joined()
    }
}

/// A bug that edits seed.
struct SeededBug {
    let name: String
    /// The file of edits and the line of its first edit.
    let origin: String
    /// The tests that must find the bug, as an argument of `--filter`; nil for all tests.
    fileprivate(set) var filter: String?
}

/// The edits and the bugs of a file of edits.
struct EditList {
    /// The edits, by the path of the file that they change.
    private(set) var edits: [String: [Edit]] = [:]
    /// The bugs in their order. Each occurs once.
    private(set) var bugs: [SeededBug] = []
    /// The index of the bug that was named last. The next `found by` belongs to it.
    private var last: Int?

    /// Reads the text of the file of edits at `path`. Does not read the files that it changes.
    init(_ path: String, _ contents: String) throws {
        var (file, scope): (String?, [String]) = (nil, [])
        for (index, line) in contents.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let origin = "\(path):\(index + 1)"
            if line.isEmpty || line.hasPrefix("#") {
                continue
            } else if let match = line.wholeMatch(of: /(?:    )?found by (.+)/) {
                try add(filter: String(match.1), origin)
            } else if let match = line.wholeMatch(of: /bug elsewhere: (.+)/) {
                try add(bug: String(match.1), origin)
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
                let edit = try Edit(line.dropFirst(4), scope, origin)
                if case .bug(let name) = edit.kind { try add(bug: name, origin) }
                edits[file, default: []].append(edit)
            } else {
                throw Failure("\(origin): neither a file, a scope, an edit nor its text")
            }
        }
        for edit in edits.values.joined() { try edit.checkText() }
    }

    /// Adds the edits and bugs of another file. A bug may have edits in both files.
    mutating func merge(_ other: EditList) throws {
        edits.merge(other.edits, uniquingKeysWith: +)
        for bug in other.bugs {
            try add(bug: bug.name, bug.origin)
            if let filter = bug.filter { try add(filter: filter, bug.origin) }
        }
    }

    private mutating func add(bug name: String, _ origin: String) throws {
        let word = Edit.caseName(name)
        if word.wholeMatch(of: /[A-Za-z]\w*/) == nil {
            throw Failure("\(origin): the name of a bug begins with a letter: \(name)")
        }
        if let twin = bugs.first(where: { $0.name != name && Edit.caseName($0.name) == word }) {
            throw Failure("\(origin): in code, \(name) is the same as \(twin.name)")
        }
        last = bugs.firstIndex { $0.name == name }
        if last == nil {
            last = bugs.count
            bugs.append(SeededBug(name: name, origin: origin))
        }
    }

    private mutating func add(filter: String, _ origin: String) throws {
        guard let last else { throw Failure("\(origin): tests of no bug") }
        if let old = bugs[last].filter, old != filter {
            throw Failure("\(origin): the bug has its tests already: \(old)")
        }
        bugs[last].filter = filter
    }
}

extension Edit {
    fileprivate func checkText() throws {
        if hasText == text.isEmpty { throw Failure("\(origin): \(hasText ? "has no text" : "a point has no text")") }
        if case .part = place, text.count > 1 {
            throw Failure("\(origin): the text is one line, in place of a part of one")
        }
    }

    /// Whether the new text equals the text that it replaces.
    var changesNothing: Bool {
        switch place {
        case .part(let part): text == [part]
        case .replacing(let lines): text == lines
        default: false
        }
    }

    private var hasText: Bool {
        switch kind {
        case .bug, .insert: true
        case .point, .faultPoint: false
        }
    }

    fileprivate init(_ header: Substring, _ scope: [String], _ origin: String) throws {
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
