// SPDX-License-Identifier: Apache-2.0

/// The reads of a derived value's function, in order: constant words behind those of a set. A
/// thread reads them without counting a reference.
///
/// The first word is the number of steps. Then each step has a word: the index of a root, or where
/// the words of a derived value begin. These words, a `NodeWords` for each derived value, come
/// after the steps.
@safe internal struct StepWords {
    private let memory: UnsafeMutablePointer<UInt64>

    init(_ memory: UnsafeMutablePointer<UInt64>) { unsafe self.memory = unsafe memory }

    private static var nodeMark: UInt64 { 1 << 63 }

    /// Returns the words for the steps of a set.
    static func made(of details: SourceDetails) -> [UInt64] {
        var words = [UInt64(details.steps.count)]
        var next = details.steps.count + 1
        for step in details.steps {
            guard step < 0 else {
                words.append(UInt64(step))
                continue
            }
            words.append(nodeMark | UInt64(next))
            next += NodeWords.size(details.nodes[ReadStep.nodeIndex(step)])
        }
        for step in details.steps where step < 0 {
            words += NodeWords.made(of: details.nodes[ReadStep.nodeIndex(step)])
        }
        return words
    }

    // Safe, all: the derived value keeps the set, or the caller does; callers stay below the count.

    var count: Int { Int(truncatingIfNeeded: unsafe memory[0]) }

    /// Returns the index of the root that is read at a step; nil if the step reads a derived value.
    @inline(__always)
    func root(_ step: Int) -> Int? {
        let word = unsafe memory[1 + step]
        return word & Self.nodeMark == 0 ? Int(truncatingIfNeeded: word) : nil
    }

    /// Returns the derived value that is read at a step; nil if the step reads a root.
    @inline(__always)
    func node(_ step: Int) -> NodeWords? {
        let word = unsafe memory[1 + step]
        return word & Self.nodeMark == 0
            ? nil : unsafe NodeWords(memory + Int(truncatingIfNeeded: word & ~Self.nodeMark))
    }
}

/// A derived value that was read: its address, its set of sources, and the index of each root of
/// that set in the reading value's set.
@safe internal struct NodeWords {
    private let memory: UnsafeMutablePointer<UInt64>

    fileprivate init(_ memory: UnsafeMutablePointer<UInt64>) { unsafe self.memory = unsafe memory }

    fileprivate static func size(_ node: NodeStep) -> Int { 2 + node.indices.count }

    fileprivate static func made(of node: NodeStep) -> [UInt64] {
        unsafe [UInt64(node.address), UInt64(UInt(bitPattern: node.words.memory))] + node.indices.map { UInt64($0) }
    }

    /// Whether this is the derived value at `node`, evaluated with `set`.
    @inline(__always)
    func isOf(_ node: UInt, _ set: SourceWords) -> Bool {
        // Safe: as in `StepWords`; addresses are compared, not followed.
        unsafe memory[0] == UInt64(node) && memory[1] == UInt64(UInt(bitPattern: set.memory))
    }

    /// Returns the index, in the reading value's set, of a root of this value's set.
    @inline(__always)
    func index(_ root: Int) -> Int { Int(truncatingIfNeeded: unsafe memory[2 + root]) }
}
