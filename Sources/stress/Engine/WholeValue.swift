// SPDX-License-Identifier: Apache-2.0

/// A value of many parts. It shows whether they belong together.
protocol WholeValue: Sendable {
    /// Makes a value whose parts depend on this number.
    static func whole(_ number: UInt64) -> Self

    /// Whether all parts belong to one value.
    var isWhole: Bool { get }
    /// A part that differs in most other values.
    var mark: UInt64 { get }
}

/// A text that is too long to be stored inline. It has one letter, repeated a number of times that
/// depends on the letter.
extension String: WholeValue {
    static func whole(_ number: UInt64) -> String {
        let letter = UInt8(ascii: "a") + UInt8(number % 26)
        return String(decoding: repeatElement(letter, count: length(of: letter)), as: UTF8.self)
    }

    private static func length(of letter: UInt8) -> Int { 16 + Int(letter & 15) }

    var isWhole: Bool {
        guard let first = utf8.first else { return false }
        return utf8.count == Self.length(of: first) && utf8.allSatisfy { $0 == first }
    }

    var mark: UInt64 { utf8.first.map(UInt64.init) ?? 0 }
}

/// An array that has one number many times.
extension [UInt64]: WholeValue {
    static func whole(_ number: UInt64) -> [UInt64] { Array(repeating: number, count: 3 + Int(number & 7)) }

    var isWhole: Bool { allSatisfy { $0 == mark } }
    var mark: UInt64 { first ?? 0 }
}
