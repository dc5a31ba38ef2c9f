// SPDX-License-Identifier: Apache-2.0

/// A table of our figures and those of several peers, with a row for each operation.
package struct PeerTable {
    private let peers: [String]
    private var rows: [[String]] = []
    private var compared = 0
    private var slower = 0

    package init(peers: [String]) { self.peers = peers }

    /// Adds a row.
    ///
    /// - Parameters:
    ///   - ours: The judgement of our rounds, in nanoseconds.
    ///   - theirs: The judgement of each peer's rounds; nil if the peer has no such operation.
    package mutating func add(_ operation: String, ours: Judgement, theirs: [Judgement?]) {
        rows.append([operation, Self.figure(ours)] + theirs.map { $0.map { cell($0, beside: ours) } ?? "" })
        for peer in theirs.compactMap({ $0 }) {
            compared += 1
            if Self.isSlower(ours, peer) { slower += 1 }
        }
    }

    package var markdown: String {
        let lines =
            markdownTable(["operation", "ours"] + peers, rows) + [
                "",
                "Nanoseconds; in parentheses ours divided by the peer's. **Bold**: ours is slower, in \(slower) of",
                "\(compared) comparisons.",
            ]
        return lines.joined(separator: "\n") + "\n"
    }

    private func cell(_ peer: Judgement, beside ours: Judgement) -> String {
        let ratio = ours.figure / peer.figure
        let text = "\(Self.figure(peer)) (\(ratio < 0.005 ? "< 0.01" : decimal(ratio)))"
        return Self.isSlower(ours, peer) ? "**\(text)**" : text
    }

    private static func isSlower(_ ours: Judgement, _ peer: Judgement) -> Bool { ours.figure > peer.figure }

    private static func figure(_ judgement: Judgement) -> String {
        decimal(judgement.figure) + (judgement.isDisturbed ? ", disturbed" : "")
    }
}
