// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The instrumented copy of a library: its sources with edits, the files that are added, and the
/// list of seeded bugs.
///
/// Every anchor must occur exactly once, and every edit must change something.
struct Instrumented {
    /// A library, with the folders of `Instrumented` that its copy is made of. The copy itself is
    /// ignored by git.
    struct Library {
        let sources, edits, added, copy: String

        static let observation = Library("ConcurrentObserve", "", copy: "ConcurrentObserveInstrumented")
        static let mirror = Library("ConcurrentObserveEtcd", "Etcd", copy: "ConcurrentObserveEtcd")

        private init(_ name: String, _ part: String, copy: String) {
            sources = "Sources/\(name)"
            edits = "Instrumented/\(part)Edits/"
            added = "Instrumented/\(part)Added/"
            self.copy = "Instrumented/Sources/\(copy)"
        }
    }

    /// The copy's files, by their paths in it.
    private(set) var files: [String: String] = [:]
    private var count = 0

    init(_ checkout: Checkout, of library: Library = .observation) throws {
        var all = try Self.edits(checkout, of: library)
        count = all.values.reduce(0) { $0 + $1.count }
        for path in checkout.paths.sorted() where path.hasPrefix(library.sources + "/") && path.hasSuffix(".swift") {
            let inside = String(path.dropFirst(library.sources.count + 1))
            let text = checkout.text(path) ?? ""
            guard let edits = all.removeValue(forKey: inside) else {
                files[inside] = text
                continue
            }
            // Not by its own name, which its lines give to the compiler as where they come from.
            files[inside.dropLast(6) + ".edited.swift"] = try EditedFile(path, text).apply(edits)
        }
        if let (file, edits) = all.min(by: { $0.key < $1.key }) {
            throw Failure("\(edits[0].origin): the library has no file \(file)")
        }
        for path in checkout.paths where path.hasPrefix(library.added) {
            let inside = String(path.dropFirst(library.added.count))
            if checkout.text("\(library.sources)/\(inside)") != nil {
                throw Failure("\(path): the library has a file of this name")
            }
            files[inside] = checkout.text(path)
        }
        let bugs = checkout.paths.filter { $0.hasPrefix(library.edits) }
            .flatMap { Edit.bugs(checkout.text($0) ?? "") }
        files["SeededBug.swift"] = Self.list(Set(bugs).sorted())
    }

    /// All edits, by the file of the library that they change.
    static func edits(_ checkout: Checkout, of library: Library = .observation) throws -> [String: [Edit]] {
        var all: [String: [Edit]] = [:]
        for path in checkout.paths.sorted() where path.hasPrefix(library.edits) {
            try all.merge(Edit.parse(path, checkout.text(path) ?? ""), uniquingKeysWith: +)
        }
        return all
    }

    private static func list(_ bugs: [String]) -> String {
        """
        /// A bug that is seeded in the library, to prove that a check finds it.
        public enum SeededBug: String, CaseIterable, Sendable {
        \(bugs.map { "    case \(Edit.caseName($0)) = \"\($0)\"\n" }.joined())}

        """
    }

    /// Makes the copies again. A file that has not changed is not written, so that it is not
    /// compiled again.
    static func write(_ checkout: Checkout) throws -> String {
        try [Library.observation, .mirror].map { library in
            let copy = try Instrumented(checkout, of: library)
            let manager = FileManager.default
            let old = manager.subpaths(atPath: library.copy) ?? []
            for path in old where path.hasSuffix(".swift") && copy.files[path] == nil {
                try manager.removeItem(atPath: "\(library.copy)/\(path)")
            }
            for (path, text) in copy.files {
                let file = URL(fileURLWithPath: "\(library.copy)/\(path)")
                if (try? String(contentsOf: file, encoding: .utf8)) == text { continue }
                try manager.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try text.write(to: file, atomically: true, encoding: .utf8)
            }
            return "\(library.copy) with \(copy.count) edits"
        }.joined(separator: ", ")
    }
}

/// The lines of a file of the library, which edits find their places in.
private struct EditedFile {
    private let path: String
    private let lines: [Substring]

    init(_ path: String, _ text: String) {
        self.path = path
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// The text of the copy. Behind each edit stands, for the compiler, which line of the library
    /// follows.
    func apply(_ edits: [Edit]) throws -> String {
        var written: [Int: [String]] = [:]
        var replaced: Set<Int> = []
        var lines = lines.map(String.init)
        for edit in edits {
            let scope = try self.scope(of: edit)
            if case .part(let part) = edit.place {
                let found = scope.filter { isCode($0) && self.lines[$0].contains(part) }
                try demandOne(found.count, part, edit)
                // The bug before it, if two replace one part, has left the part behind a colon.
                guard let range = lines[found[0]].range(of: part, options: .backwards) else {
                    throw Failure("\(edit.origin): “\(part)” overlaps with another edit in \(path)")
                }
                lines[found[0]].replaceSubrange(range, with: edit.lines[0])
                continue
            }
            let (place, indentation, old) = try find(edit, in: scope)
            let next = lines[place...].lazy.map(trimmed).filter { !$0.isEmpty && !$0.hasPrefix("//") }
            let new = edit.lines.map(trimmed)
            if next.starts(with: new) { throw Failure("\(edit.origin): changes nothing in \(path)") }
            replaced.formUnion(old)
            written[place, default: []] += edit.lines.map { $0.isEmpty ? $0 : indentation + $0 }
        }
        var result = [location(of: 0)]
        for (index, line) in lines.enumerated() {
            if let text = written[index] {
                result += text
                result.append(location(of: replaced.contains(index) ? index + 1 : index))
            }
            if !replaced.contains(index) { result.append(line) }
        }
        return result.joined(separator: "\n")
    }

    private func location(of line: Int) -> String { "#sourceLocation(file: \"\(path)\", line: \(line + 1))" }

    private func trimmed(_ line: some StringProtocol) -> String { line.trimmingCharacters(in: .whitespaces) }

    private func indentation(_ index: Int) -> Int { lines[index].prefix { $0 == " " }.count }

    private func isCode(_ index: Int) -> Bool {
        let line = trimmed(lines[index])
        return !line.isEmpty && !line.hasPrefix("//")
    }

    /// The lines of the block that an edit is in, without those that begin and end it.
    private func scope(of edit: Edit) throws -> Range<Int> {
        var scope = lines.indices
        for part in edit.scope {
            let texts = part.components(separatedBy: " ⏎ ")
            let found = scope.filter { index in
                isCode(index) && zip(texts, lines[index...]).allSatisfy { $1.contains($0) }
            }
            try demandOne(found.count, part, edit)
            let first = found[0]
            let depth = indentation(first)
            guard
                let opening = lines[first...].indices.first(where: {
                    indentation($0) == depth && lines[$0].hasSuffix("{")
                }),
                let end = lines[(opening + 1)...].indices.first(where: { isCode($0) && indentation($0) <= depth })
            else { throw Failure("\(edit.origin): no block begins with “\(part)” in \(path)") }
            scope = opening + 1..<end
        }
        return scope
    }

    /// Before which line the text is written, how it is indented, and the lines that it replaces.
    private func find(_ edit: Edit, in scope: Range<Int>) throws -> (Int, String, Range<Int>) {
        func spaces(_ count: Int) -> String { String(repeating: " ", count: count) }
        func match(_ anchor: [String]) throws -> ClosedRange<Int> {
            let code = scope.filter(isCode)
            let starts = code.indices.filter { start in
                code[start...].prefix(anchor.count).map { trimmed(lines[$0]) } == anchor
            }
            try demandOne(starts.count, anchor.joined(separator: " ⏎ "), edit)
            return code[starts[0]]...code[starts[0] + anchor.count - 1]
        }
        switch edit.place {
        case .top: return (scope.lowerBound, spaces(indentation(scope.upperBound) + 4), 0..<0)
        case .end: return (scope.upperBound, spaces(indentation(scope.upperBound) + 4), 0..<0)
        case .before(let anchor):
            let found = try match(anchor).lowerBound
            return (found, spaces(indentation(found)), 0..<0)
        case .after(let anchor):
            let found = try match(anchor).upperBound
            let opens = lines[found].hasSuffix("{") || lines[found].hasSuffix(" in")
            return (found + 1, spaces(indentation(found) + (opens ? 4 : 0)), 0..<0)
        case .part: preconditionFailure("edited in its line")
        case .replacing(let anchor):
            let found = try match(anchor)
            return (found.lowerBound, spaces(indentation(found.lowerBound)), Range(found))
        }
    }

    private func demandOne(_ count: Int, _ anchor: String, _ edit: Edit) throws {
        if count != 1 { throw Failure("\(edit.origin): “\(anchor)” occurs \(count) times in \(path)") }
    }
}
