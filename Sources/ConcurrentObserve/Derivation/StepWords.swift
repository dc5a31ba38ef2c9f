// SPDX-License-Identifier: Apache-2.0

/// What the function of a derived value has read, in order, in constant words behind those of a set: a thread follows them, and counts
/// no reference.
///
/// First how many steps there are; then a word for each: the index of a root, or where the words of a derived value begin. Those,
/// a `NodeWords` for each derived value, are behind the steps.
@safe internal struct StepWords {
    private let memory: UnsafeMutablePointer<UInt64>

    init(_ memory: UnsafeMutablePointer<UInt64>) { unsafe self.memory = unsafe memory }

    private static var nodeMark: UInt64 { 1 << 63 }

    /// The words of what a set has beside roots.
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

    // Safe, all: the set is kept by its derived value, or by the caller; callers stay below the count.

    var count: Int { Int(truncatingIfNeeded: unsafe memory[0]) }

    /// The index of the root that is read at a step; nil if that is a derived value.
    @inline(__always)
    func root(_ step: Int) -> Int? {
        let word = unsafe memory[1 + step]
        return word & Self.nodeMark == 0 ? Int(truncatingIfNeeded: word) : nil
    }

    /// The derived value that is read at a step; nil if that is a root.
    @inline(__always)
    func node(_ step: Int) -> NodeWords? {
        let word = unsafe memory[1 + step]
        return word & Self.nodeMark == 0
            ? nil : unsafe NodeWords(memory + Int(truncatingIfNeeded: word & ~Self.nodeMark))
    }
}

/// A derived value that was read: itself, its set of sources, and which root of the reading value's set each of these is.
@safe internal struct NodeWords {
    private let memory: UnsafeMutablePointer<UInt64>

    fileprivate init(_ memory: UnsafeMutablePointer<UInt64>) { unsafe self.memory = unsafe memory }

    fileprivate static func size(_ node: NodeStep) -> Int { 2 + node.indices.count }

    fileprivate static func made(of node: NodeStep) -> [UInt64] {
        unsafe [UInt64(node.address), UInt64(UInt(bitPattern: node.words.memory))] + node.indices.map { UInt64($0) }
    }

    /// Whether it is the derived value at an address, evaluated of a set.
    @inline(__always)
    func isOf(_ node: UInt, _ set: SourceWords) -> Bool {
        // Safe: as in `StepWords`; addresses are compared, not followed.
        unsafe memory[0] == UInt64(node) && memory[1] == UInt64(UInt(bitPattern: set.memory))
    }

    /// Which root of the reading value's set a root of its own is.
    @inline(__always)
    func index(_ root: Int) -> Int { Int(truncatingIfNeeded: unsafe memory[2 + root]) }
}
