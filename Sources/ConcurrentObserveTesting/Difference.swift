// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// The difference between received and expected events, with a line for each event.
struct Difference {
    private(set) var isEmpty = true
    private var lines: [String] = []

    /// The lines. `-` marks an event that is expected and missing, `+` an event that is received
    /// and not expected.
    var text: String { (["- expected, + received:"] + lines).joined(separator: "\n") }

    /// Compares `received` with `expected`.
    ///
    /// - Complexity: O(*n*) if all events match. Otherwise O(*n* + *k* *l*), for *k* received and
    ///   *l* expected events between the first difference and the last. If *k* *l* exceeds
    ///   1,000,000, these events are listed, and not compared.
    init<Element, Expected>(
        of received: [Element],
        from expected: [Expected],
        by matches: (Element, Expected) -> Bool
    ) {
        let same = zip(received, expected).prefix(while: matches).count
        let rest = min(received.count, expected.count) - same
        let sameAtEnd = zip(received.reversed(), expected.reversed()).prefix(rest).prefix(while: matches).count
        appendMatching(received.prefix(same))
        appendDifferent(
            Array(received[same..<(received.count - sameAtEnd)]),
            Array(expected[same..<(expected.count - sameAtEnd)]),
            matches
        )
        appendMatching(received.suffix(sameAtEnd))
    }

    /// Appends a line for each event. If there are many, appends lines for the first and the last
    /// three.
    private mutating func appendMatching(_ events: ArraySlice<some Any>) {
        if events.count <= 7 { return lines += events.map { "  \(described($0))" } }
        lines += events.prefix(3).map { "  \(described($0))" }
        lines.append("  … \(events.count - 6) more as expected")
        lines += events.suffix(3).map { "  \(described($0))" }
    }

    private mutating func appendDifferent<Element, Expected>(
        _ received: [Element],
        _ expected: [Expected],
        _ matches: (Element, Expected) -> Bool
    ) {
        isEmpty = received.isEmpty && expected.isEmpty
        guard received.count * expected.count <= 1_000_000 else {
            return lines += expected.map { "- \(described($0))" } + received.map { "+ \(described($0))" }
        }
        var longest = Table(rows: received.count + 1, columns: expected.count + 1)
        for row in received.indices.reversed() {
            for column in expected.indices.reversed() {
                longest[row, column] =
                    matches(received[row], expected[column])
                    ? longest[row + 1, column + 1] + 1
                    : max(longest[row + 1, column], longest[row, column + 1])
            }
        }
        var (row, column) = (0, 0)
        while row < received.count || column < expected.count {
            if row < received.count, column < expected.count, matches(received[row], expected[column]) {
                lines.append("  \(described(received[row]))")
                (row, column) = (row + 1, column + 1)
            } else if column < expected.count,
                row == received.count || longest[row, column + 1] >= longest[row + 1, column]
            {
                lines.append("- \(described(expected[column]))")
                column += 1
            } else {
                lines.append("+ \(described(received[row]))")
                row += 1
            }
        }
    }

    /// A table of lengths. The element at a row and a column is the length of the longest common
    /// subsequence of the events from there on.
    private struct Table {
        private let columns: Int
        private var lengths: [Int]

        init(rows: Int, columns: Int) {
            (self.columns, lengths) = (columns, Array(repeating: 0, count: rows * columns))
        }

        subscript(row: Int, column: Int) -> Int {
            get { lengths[row * columns + column] }
            set { lengths[row * columns + column] = newValue }
        }
    }
}

/// Returns a line that shows an event. The line of a change begins with the new value.
func described(_ event: some Any) -> String { (event as? any LineOfChange)?.line ?? "\(event)" }

/// A type that makes its own line in a difference.
private protocol LineOfChange { var line: String { get } }

extension Change: LineOfChange {
    fileprivate var line: String {
        let before = old.map { ", old \($0)" } ?? ""
        return "\(new)  (\(reason)\(before), version \(version))"
    }
}
