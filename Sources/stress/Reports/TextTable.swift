// SPDX-License-Identifier: Apache-2.0

/// Text in columns.
struct TextTable {
    private var rows: [[String]]
    private let isNumeric: [Bool]

    /// - Parameter columns: Titles; a numeric column is aligned to the right.
    init(_ columns: [(title: String, isNumeric: Bool)]) {
        rows = [columns.map(\.title)]
        isNumeric = columns.map(\.isNumeric)
    }

    mutating func add(_ row: [String]) { rows.append(row) }

    var text: String {
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

/// Numbers as people read them.
enum Format {
    /// A duration in nanoseconds with its unit.
    static func time(_ nanoseconds: UInt64?) -> String {
        guard let nanoseconds else { return "-" }
        switch nanoseconds {
        case ..<1_000: return "\(nanoseconds) ns"
        case ..<1_000_000: return "\(rounded(Double(nanoseconds) / 1e3)) µs"
        case ..<1_000_000_000: return "\(rounded(Double(nanoseconds) / 1e6)) ms"
        default: return "\(rounded(Double(nanoseconds) / 1e9)) s"
        }
    }

    /// A count with separators between thousands.
    static func count(_ number: UInt64) -> String {
        var digits = Array(String(number))
        var index = digits.count - 3
        while index > 0 {
            digits.insert(",", at: index)
            index -= 3
        }
        return String(digits)
    }

    /// One decimal below ten, none above.
    private static func rounded(_ value: Double) -> String {
        value < 10 ? "\((value * 10).rounded() / 10)" : "\(Int(value.rounded()))"
    }
}
