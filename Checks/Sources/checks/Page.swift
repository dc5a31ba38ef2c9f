// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A Markdown page: its code blocks, and the comments `<!-- … -->` that mark them.
struct Page {
    struct Block: Equatable {
        /// The last mark before the block; nil if there is another block of Swift in between.
        let mark: String?
        let language: String
        let lines: [String]
        /// The number of the block's last line in the page.
        let end: Int

        var text: String { lines.map { $0 + "\n" }.joined() }
    }

    let blocks: [Block]

    init(_ text: String) {
        var blocks: [Block] = []
        var mark: String?
        var open: (language: String, lines: [String])?
        for (index, line) in text.lines.enumerated() {
            if let (language, lines) = open {
                if line.hasPrefix("```") {
                    blocks.append(Block(mark: mark, language: language, lines: lines, end: index + 1))
                    open = nil
                    if language == "swift" { mark = nil }
                } else {
                    open = (language, lines + [String(line)])
                }
            } else if line.hasPrefix("```") {
                open = (String(line.dropFirst(3)), [])
            } else if let comment = line.wholeMatch(of: /<!-- (.*) -->/) {
                mark = String(comment.1)
            }
        }
        self.blocks = blocks
    }

    /// Returns the blocks of Swift with a mark. Each has the first block of text that follows
    /// before the next block of Swift.
    func examples(_ mark: String) -> [(code: String, output: String?)] {
        blocks.indices.filter { blocks[$0].mark == mark && blocks[$0].language == "swift" }.map { index in
            let after = blocks[(index + 1)...].prefix { $0.mark != mark || $0.language != "swift" }
            return (blocks[index].text, after.first { $0.language == "text" }?.text)
        }
    }
}
