// SPDX-License-Identifier: Apache-2.0

/// A set of an exploration's threads, by their numbers: at most 32. It is a sequence of the numbers
/// in ascending order.
package struct ThreadSet: Equatable, Sendable, Sequence, IteratorProtocol {
    package private(set) var bits: UInt32 = 0

    package init() {}
    package init(_ threads: some Sequence<Int>) { for thread in threads { insert(thread) } }

    package var isEmpty: Bool { bits == 0 }
    package var count: Int { bits.nonzeroBitCount }
    /// The lowest number in the set.
    package var first: Int? { isEmpty ? nil : bits.trailingZeroBitCount }

    package func contains(_ thread: Int) -> Bool { bits >> UInt32(thread) & 1 != 0 }
    package mutating func insert(_ thread: Int) { bits |= 1 << UInt32(thread) }
    package mutating func remove(_ thread: Int) { bits &= ~(1 << UInt32(thread)) }
    package func union(_ other: ThreadSet) -> ThreadSet {
        var union = self
        union.bits |= other.bits
        return union
    }

    /// Removes the lowest number, and returns it.
    package mutating func next() -> Int? {
        guard let first else { return nil }
        remove(first)
        return first
    }
}
