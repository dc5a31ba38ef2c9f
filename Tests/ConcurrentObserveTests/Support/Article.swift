// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

/// Expects that each line of an article's code occurs in a test file, below its mark "The article's
/// code". That code is compiled and run.
///
/// - Parameters:
///   - name: The name of the article, without its ending.
///   - file: The path of the test file.
func expectArticle(_ name: String, in file: String) throws {
    let source = try String(contentsOfFile: file, encoding: .utf8)
    let root = file.components(separatedBy: "/Tests/").dropLast().joined(separator: "/Tests/")
    let article = try String(
        contentsOfFile: root + "/Sources/ConcurrentObserve/ConcurrentObserve.docc/\(name).md",
        encoding: .utf8
    )
    // Only code, and nothing above it.
    let code = source.components(separatedBy: "// MARK: - The article's code").last!
        .split(separator: "\n").filter { !$0.contains("//") }.joined(separator: "\n").withoutSpace
    // Every other part is between two fences.
    let parts = article.components(separatedBy: "```")
    let lines = stride(from: 1, to: parts.count, by: 2).flatMap { parts[$0].split(separator: "\n").dropFirst() }
    #expect(lines.count >= 8)
    for line in lines { #expect(code.contains(line.withoutSpace), "\(line) is not in the test") }
}

extension StringProtocol {
    fileprivate var withoutSpace: String { String(filter { !$0.isWhitespace }) }
}
