// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The Swift code of an article stands in the files that it is quoted from, but for indentation and
/// empty lines.
///
/// A line `<!-- from PATH -->` before a block names the file; every block needs one. A line `// …`
/// stands for code that is left out. DocC's snippets cannot do it: they are files of this package,
/// and the code is that of a package with dependencies of its own.
struct Quotations {
    static let article = "Sources/ConcurrentObserve/ConcurrentObserve.docc/EmbeddingInAService.md"

    let checkout: Checkout

    init(_ checkout: Checkout) { self.checkout = checkout }

    func check() throws -> String {
        var count = 0
        var source: String?
        var block: [String]?
        for (index, line) in (checkout.text(Self.article)?.lines ?? []).enumerated() {
            switch (block, line) {
            case (nil, "```swift"):
                block = []
            case (nil, _):
                source = line.wholeMatch(of: /<!-- from (.*) -->/).map { String($0.1) } ?? source
            case (let code?, "```"):
                count += try quoted(code, from: source, line: index + 1)
                (block, source) = (nil, nil)
            case (let code?, _) where line.hasSuffix("// …"):
                count += try quoted(code, from: source, line: index + 1)
                block = []
            case (let code?, _):
                block = code + [line.trimmingCharacters(in: .whitespaces)]
            }
        }
        if count == 0 { throw Failure("\(Self.article) quotes nothing", code: 2) }
        return "\(count) quotations"
    }

    /// 1 if the code stands in the file, 0 if there is none.
    private func quoted(_ code: [String], from source: String?, line: Int) throws -> Int {
        let code = code.filter { !$0.isEmpty }
        if code.isEmpty { return 0 }
        guard let source, let text = checkout.text(source) else {
            let source = source ?? "nowhere"
            throw Failure(
                "\(Self.article):\(line): the block that ends here is quoted from \(source), which is no file"
            )
        }
        let lines = text.lines.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        guard lines.indices.contains(where: { lines[$0...].starts(with: code) }) else {
            throw Failure(["\(Self.article):\(line): this is not in \(source):"] + code)
        }
        return 1
    }
}
