// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The library's sources, without comments.
public struct SourceTree {
    /// A place of an ordering: file, line from 1, column.
    public struct Place: Hashable, CustomStringConvertible {
        let file: String
        let line: Int
        let column: Int
        public var description: String { "\(file):\(line)" }
    }

    /// The article with the table of orderings.
    public private(set) var article = ""

    /// The lines of each file, by its path below the folder.
    private var files: [String: [String]] = [:]

    /// - Parameter folder: `Sources/ConcurrentObserve`.
    public init(folder: String) throws {
        let root = URL(fileURLWithPath: folder)
        guard let paths = FileManager.default.enumerator(atPath: root.path) else {
            throw CocoaError(.fileNoSuchFile)
        }
        article = try String(
            contentsOf: root.appendingPathComponent("ConcurrentObserve.docc/ProtocolAndMemoryModel.md"),
            encoding: .utf8
        )
        for case let path as String in paths where path.hasSuffix(".swift") {
            let text = try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
            add(path, text)
        }
    }

    /// Makes a tree of one file, for tests.
    public init(file: String, text: String) { add(file, text) }

    private mutating func add(_ path: String, _ text: String) {
        files[path] = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let end = line.range(of: " //")?.lowerBound ?? (line.hasPrefix("//") ? line.startIndex : line.endIndex)
            return String(line[..<end])
        }
    }

    /// Where a site's ordering is and what it says; `order` is nil if none follows. Throws what is
    /// wrong with the site.
    func ordering(at site: Site) throws(Problem) -> (place: Place, order: String?) {
        guard let lines = files[site.file] else { throw Problem("\(site.file): there is no such file") }
        var start = 0
        if !site.after.isEmpty {
            let found = lines.indices.filter { lines[$0].contains(site.after) }
            guard found.count == 1 else {
                throw Problem("\(site.file): \(found.count) lines have “\(site.after)”, not one")
            }
            start = found[0]
        }
        let found = lines.indices.filter { $0 >= start && lines[$0].contains(site.fragment) }
        guard let index = found.first, found.count == 1 || !site.after.isEmpty else {
            throw Problem("\(site.file): \(found.count) lines have “\(site.fragment)”, not one")
        }
        let line = lines[index]
        let range = line.range(of: site.fragment)!
        // The last one of the fragment; if it has none, the first one after it.
        let inside = Self.orderings(in: line, range)
        if let last = inside.last { return (Place(file: site.file, line: index + 1, column: last.column), last.order) }
        if let next = Self.orderings(in: line, range.upperBound..<line.endIndex).first {
            return (Place(file: site.file, line: index + 1, column: next.column), next.order)
        }
        for below in lines.indices where below > index && below <= index + 6 {
            if let next = Self.orderings(in: lines[below], lines[below].startIndex..<lines[below].endIndex).first {
                return (Place(file: site.file, line: below + 1, column: next.column), next.order)
            }
        }
        return (Place(file: site.file, line: index + 1, column: 0), nil)
    }

    /// Every ordering that is not relaxed, but for those of seeded bugs: on their lines, and in
    /// files of their own.
    var strongOrderings: [(place: Place, order: String, text: String)] {
        files.keys.filter { !$0.hasSuffix("+Mutants.swift") }.sorted().flatMap { file in
            files[file]!.enumerated().flatMap { index, line -> [(place: Place, order: String, text: String)] in
                guard !line.contains("mutant(") || line.contains("|| mutant(") else { return [] }
                return Self.orderings(in: line, line.startIndex..<line.endIndex).compactMap { found in
                    guard let order = Order(rawValue: found.order), order != .relaxed else { return nil }
                    let place = Place(file: file, line: index + 1, column: found.column)
                    return (place, found.order, line.trimmingCharacters(in: .whitespaces))
                }
            }
        }
    }

    private static func orderings(in line: String, _ range: Range<String.Index>) -> [(column: Int, order: String)] {
        var found: [(column: Int, order: String)] = []
        var rest = range
        while let next = line.range(of: "rdering: .", range: rest) {
            let order = line[next.upperBound...].prefix { $0.isLetter }
            found.append((line.distance(from: line.startIndex, to: next.lowerBound), String(order)))
            rest = next.upperBound..<range.upperBound
        }
        return found
    }
}

/// A problem, in a sentence.
public struct Problem: Error, CustomStringConvertible, Equatable {
    public let description: String
    init(_ description: String) { self.description = description }
}
