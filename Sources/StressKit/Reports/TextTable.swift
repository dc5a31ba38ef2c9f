// SPDX-License-Identifier: Apache-2.0

/// A table of text in columns.
package struct TextTable {
    private var rows: [[String]]
    private let isNumeric: [Bool]

    /// Makes a table without rows.
    ///
    /// - Parameter columns: The titles. A numeric column is aligned to the right.
    package init(_ columns: [(title: String, isNumeric: Bool)]) {
        rows = [columns.map(\.title)]
        isNumeric = columns.map(\.isNumeric)
    }

    package mutating func add(_ row: [String]) { rows.append(row) }

    package var text: String {
        let widths = isNumeric.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let rule = widths.map { String(repeating: "-", count: $0) }.joined(separator: "  ")
        var lines = rows.map { row in
            row.enumerated().map { column, cell in
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                return isNumeric[column] ? padding + cell : cell + padding
            }.joined(separator: "  ").trimmingTrailingSpaces
        }
        lines.insert(rule, at: 1)
        return lines.joined(separator: "\n")
    }
}

extension String {
    fileprivate var trimmingTrailingSpaces: String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}

/// Formats numbers for people.
package enum Format {
    /// Returns a duration in nanoseconds as text with a unit.
    package static func time(_ nanoseconds: UInt64?) -> String {
        guard let nanoseconds else { return "-" }
        switch nanoseconds {
        case ..<1_000: return "\(nanoseconds) ns"
        case ..<1_000_000: return "\(rounded(Double(nanoseconds) / 1e3)) µs"
        case ..<1_000_000_000: return "\(rounded(Double(nanoseconds) / 1e6)) ms"
        default: return "\(rounded(Double(nanoseconds) / 1e9)) s"
        }
    }

    /// Returns a count as text with separators between thousands.
    package static func count(_ number: UInt64) -> String {
        var digits = Array(String(number))
        var index = digits.count - 3
        while index > 0 {
            digits.insert(",", at: index)
            index -= 3
        }
        return String(digits)
    }

    /// Returns seconds as text: one decimal below a hundred, none above.
    package static func seconds(_ seconds: Double) -> String {
        seconds < 100 ? "\((seconds * 10).rounded() / 10) s" : "\(Int(seconds.rounded())) s"
    }

    /// Returns a count as a short text: 20k, 3.5M.
    package static func short(_ number: Double) -> String {
        switch number {
        case ..<1_000: rounded(number)
        case ..<1_000_000: "\(rounded(number / 1e3))k"
        default: "\(rounded(number / 1e6))M"
        }
    }

    /// Returns bytes as text in MiB, with a sign.
    package static func mebibytes(_ bytes: Double) -> String {
        "\(bytes < 0 ? "-" : "+")\((abs(bytes) / 1048576 * 100).rounded() / 100) MiB"
    }

    /// Returns a number as text: one decimal below ten, none above.
    private static func rounded(_ value: Double) -> String {
        value < 10 && value != value.rounded() ? "\((value * 10).rounded() / 10)" : "\(Int(value.rounded()))"
    }
}
