// SPDX-License-Identifier: Apache-2.0

/// Threads of an exploration, by their numbers: at most 32.
struct ThreadSet: Equatable, Sendable {
    private(set) var bits: UInt32 = 0

    init() {}
    init(_ threads: some Sequence<Int>) { for thread in threads { insert(thread) } }

    var isEmpty: Bool { bits == 0 }
    var count: Int { bits.nonzeroBitCount }
    /// The lowest number in the set.
    var first: Int? { isEmpty ? nil : bits.trailingZeroBitCount }

    func contains(_ thread: Int) -> Bool { bits >> UInt32(thread) & 1 != 0 }
    mutating func insert(_ thread: Int) { bits |= 1 << UInt32(thread) }
    mutating func remove(_ thread: Int) { bits &= ~(1 << UInt32(thread)) }
    func union(_ other: ThreadSet) -> ThreadSet {
        var union = self
        union.bits |= other.bits
        return union
    }

    /// In ascending order.
    var members: [Int] { (0..<32).filter(contains) }
}
