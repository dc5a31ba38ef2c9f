// SPDX-License-Identifier: Apache-2.0

/// The changes of the keys, in the order of the commits. They come from PostgreSQL's own log,
/// decoded by its `test_decoding` and read with psql. The mirror uses neither.
struct History {
    /// The keys with their values; nil for a deletion.
    typealias Changes = [String: String?]

    var revisions: [Int64: Changes] = [:]

    /// Reads the changes.
    ///
    /// - Parameter lines: The lines of `pg_logical_slot_get_changes`.
    /// - Throws: `Failure` if positions are not in the order of the commits.
    init(_ lines: [Substring]) throws {
        var changes: Changes = [:]
        var (position, last) = (Int64(0), Int64(0))
        for line in lines {
            if line.hasPrefix("BEGIN") {
                (changes, position) = ([:], 0)
            } else if line.hasPrefix("table mirror.state:") {
                position = Self.text(in: line, after: "\"position\"[bigint]:", until: " ").flatMap { Int64($0) } ?? 0
            } else if line.hasPrefix("table mirror.keys:") {
                guard let key = Self.text(in: line, after: "key[text]:'", until: "'") else {
                    throw Failure("a line without a key: \(line)")
                }
                let value = Self.text(in: line, after: "value[bytea]:'\\x", until: "'")
                changes[String(key)] = .some(value.map(Self.decode))
            } else if line.hasPrefix("COMMIT"), !changes.isEmpty {
                guard position > last else { throw Failure("position \(position) was committed after \(last)") }
                revisions[position] = changes
                last = position
            }
        }
    }

    private static func text(in line: Substring, after begin: String, until end: Character) -> Substring? {
        guard let range = line.firstRange(of: begin) else { return nil }
        return line[range.upperBound...].prefix { $0 != end }
    }

    /// Returns a text whose bytes are written as hexadecimal digits.
    private static func decode(_ digits: Substring) -> String {
        let digits = Array(digits)
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
