// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The lines of a file in which edits are placed.
struct EditedFile {
    private let path: String
    private let lines: [Substring]

    init(_ path: String, _ text: String) {
        self.path = path
        // `"\r\n"` is one `Character`, which differs from `"\n"`.
        let text = text.replacingOccurrences(of: "\r\n", with: "\n")
        // The last line is empty, so that text at the end of the file is inserted before it.
        lines = (text.hasSuffix("\n") ? text : text + "\n").split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// Returns the text of the copy. After each edit, a directive gives the number of the original
    /// line that comes next.
    func apply(_ edits: [Edit]) throws -> String {
        var written: [Int: [String]] = [:]
        var replaced: Set<Int> = []
        var lines = lines.map(String.init)
        for edit in edits {
            if edit.changesNothing { throw Failure("\(edit.origin): changes nothing in \(path)") }
            let scope = try self.scope(of: edit)
            if case .part(let part) = edit.place {
                let found = scope.filter { isCode($0) && self.lines[$0].contains(part) }
                try demandOne(found.map { self.lines[$0].ranges(of: part).count }.reduce(0, +), part, edit)
                // If two bugs replace one part, the first has left this part after a colon.
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

    private func indentation(_ index: Int) -> Int { lines[index].prefix { $0 == " " || $0 == "\t" }.count }

    private func isCode(_ index: Int) -> Bool {
        let line = trimmed(lines[index])
        return !line.isEmpty && !line.hasPrefix("//")
    }

    /// Returns the indices of the lines in the edit's block, without the lines that begin and end
    /// it.
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

    /// Returns the index of the line before which the text is inserted, its indentation, and the
    /// lines that it replaces.
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
        case .top where edit.scope.isEmpty: return (0, "", 0..<0)
        case .end where edit.scope.isEmpty: return (lines.count - 1, "", 0..<0)
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
