// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A value that is made from a number, and all of whose memory must agree. There is a type for each
/// way in which a property stores values.
protocol Numbered: Sendable, Equatable {
    init(number: Int)
    var number: Int { get }
    /// Whether all parts belong to the same number.
    var isWhole: Bool { get }
}

/// All of these types, in a form that the optimiser does not see.
let numberedTypes: [any Numbered.Type] = [Int.self, Pair.self, Quad.self, String.self, Row.self, Object.self]

/// Returns one of the types as an argument that a generic function opens: Swift 6.2 does not open
/// an array's element.
func numberedType(_ index: Int) -> any Numbered.Type { numberedTypes[index] }

/// One word. It is stored in the property.
extension Int: Numbered {
    init(number: Int) { self = number }

    var number: Int { self }
    var isWhole: Bool { true }
}

/// Two words. They are stored in the property.
struct Pair: Numbered {
    let words: (Int, Int)

    init(number: Int) { words = (number, ~number) }

    var number: Int { words.0 }
    var isWhole: Bool { words.1 == ~words.0 }

    static func == (left: Pair, right: Pair) -> Bool { left.words == right.words }
}

/// Four words of plain bits: too many to be stored in the property.
struct Quad: Numbered {
    let words: (Int, Int, Int, Int)

    init(number: Int) { words = (number, ~number, number &+ 1, ~number &- 1) }

    var number: Int { words.0 }
    var isWhole: Bool { words == Quad(number: words.0).words }

    static func == (left: Quad, right: Quad) -> Bool { left.words == right.words }
}

/// Alternates between strings that are stored in the property and strings that are not.
extension String: Numbered {
    private static let tail = [" and", " so", " on,", " long", " at", " length"].joined()

    init(number: Int) { self = number.isMultiple(of: 2) ? "\(number)" : "\(number)\(Self.tail)" }

    var number: Int { Int(prefix { $0 != " " }) ?? -1 }
    var isWhole: Bool { self == String(number: number) }
}

/// Counted memory. Its length depends on the number.
struct Row: Numbered {
    let numbers: [Int]

    init(number: Int) { numbers = Array(repeating: number, count: 1 + number % 7) }

    var number: Int { numbers[0] }
    var isWhole: Bool { self == Row(number: number) }
}

/// An object that reports if it is used after its end.
final class Object: Numbered {
    let number: Int
    private let mirror: Atomic<Int>

    init(number: Int) {
        self.number = number
        mirror = Atomic(~number)
    }

    deinit { mirror.store(number, ordering: .relaxed) }

    var isWhole: Bool { mirror.load(ordering: .relaxed) == ~number }

    static func == (left: Object, right: Object) -> Bool { left.number == right.number }
}
