// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Compares the orderings of the code with those of the C harness, `Models/Arm64/Harness`.
///
/// Every line of the harness that has an ordering says before it, or at its end, which line of the
/// library it mirrors: `//= FILE … CODE`, or `//= FILE … LINE BEFORE … CODE`. `//= own: …` says
/// that the library has no such line.
public enum Harness {
    /// The harness's sources, by name: the C files of a folder.
    public static func read(folder: String) throws -> [String: String] {
        var files: [String: String] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasSuffix(".c") {
            files[name] = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
        }
        return files
    }

    /// The steps that differ, are not there, or do not say what they mirror.
    ///
    /// - Parameter files: The text of the harness's sources, by name.
    public static func problems(in files: [String: String], tree: SourceTree) -> [Problem] {
        files.keys.sorted().flatMap { name in problems(in: name, files[name]!, tree) }
    }

    /// How many lines of the harness are compared.
    public static func count(in files: [String: String]) -> Int {
        files.values.reduce(0) { sum, text in sum + text.split(separator: "\n").filter { site(in: $0) != nil }.count }
    }

    private static func problems(in name: String, _ text: String, _ tree: SourceTree) -> [Problem] {
        var problems: [Problem] = []
        // The mark of the line before, until a line has an ordering.
        var pending: (line: Int, text: Substring)?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let place = "\(name):\(index + 1)"
            let mark = mark(in: line)
            let orders = orders(in: line)
            if orders.isEmpty {
                guard let mark else { continue }
                if let pending { problems.append(Problem("\(name):\(pending.line): says what no ordering mirrors")) }
                pending = (index + 1, mark)
                continue
            }
            if let found = mark ?? pending?.text {
                problems += compare(orders, found, place, tree)
            } else {
                problems.append(Problem("\(place): an ordering that does not say what it mirrors"))
            }
            pending = nil
        }
        if let pending { problems.append(Problem("\(name):\(pending.line): says what no ordering mirrors")) }
        return problems
    }

    private static func compare(_ orders: [Order], _ mark: Substring, _ place: String, _ tree: SourceTree) -> [Problem]
    {
        if mark.hasPrefix("own: ") { return [] }
        guard let site = site(of: mark) else { return [Problem("\(place): names no file and code: \(mark)")] }
        do {
            let found = try tree.ordering(at: site)
            return orders.filter { $0.rawValue != found.order }.map {
                Problem("\(found.place): \(found.order ?? "no ordering"), but \($0.rawValue) in the harness, \(place)")
            }
        } catch { return [Problem("\(place): \(error)")] }
    }

    // MARK: A line

    private static func mark(in line: Substring) -> Substring? {
        line.firstRange(of: "//= ").map { line[$0.upperBound...] }
    }

    private static func site(in line: Substring) -> Site? { mark(in: line).flatMap(site(of:)) }

    private static func site(of mark: Substring) -> Site? {
        let parts = mark.split(separator: " … ", omittingEmptySubsequences: false).map(String.init)
        return switch parts.count {
        case 2: Site(file: parts[0], fragment: parts[1], after: "")
        case 3: Site(file: parts[0], fragment: parts[2], after: parts[1])
        default: nil
        }
    }

    /// The words of a line's code that are orderings.
    private static func orders(in line: Substring) -> [Order] {
        let code = line.firstRange(of: "//").map { line[..<$0.lowerBound] } ?? line
        return code.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.compactMap { Order(rawValue: String($0)) }
    }
}
