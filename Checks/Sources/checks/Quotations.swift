// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Checks that the Swift code of an article occurs in the file from which it is quoted, except for
/// indentation and empty lines.
///
/// A line `<!-- from PATH -->` before a block names the file. Every block needs one. A line `// …`
/// represents code that is left out. DocC's snippets cannot be used: they are files of this
/// package, and the quoted code belongs to packages with other dependencies.
enum Quotations {
    static let articles = [
        "Sources/ConcurrentObserve/ConcurrentObserve.docc/EmbeddingInAService.md",
        "Sources/ConcurrentObserveEtcd/ConcurrentObserveEtcd.docc/AnotherEngine.md",
        "Sources/StressKit/StressKit.docc/StressKit.md",
    ]

    static func check(_ checkout: Checkout) throws -> String {
        "\(try articles.map { try count($0, checkout) }.reduce(0, +)) quotations"
    }

    private static func count(_ article: String, _ checkout: Checkout) throws -> Int {
        var count = 0
        for block in Page(checkout.text(article) ?? "").blocks where block.language == "swift" {
            let place = "\(article):\(block.end)"
            let source = block.mark.flatMap { $0.hasPrefix("from ") ? String($0.dropFirst(5)) : nil } ?? "nowhere"
            guard let text = checkout.text(source) else {
                throw Failure("\(place): the block that ends here is quoted from \(source), which is no file")
            }
            let lines = plain(text.lines)
            for piece in plain(block.lines).split(whereSeparator: { $0.hasSuffix("// …") }) {
                guard lines.indices.contains(where: { lines[$0...].starts(with: piece) }) else {
                    throw Failure(["\(place): this is not in \(source):"] + piece)
                }
                count += 1
            }
        }
        if count == 0 { throw Failure("\(article) quotes nothing", code: 2) }
        return count
    }

    private static func plain(_ lines: [some StringProtocol]) -> [String] {
        lines.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
}
