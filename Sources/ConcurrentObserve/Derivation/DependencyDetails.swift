// SPDX-License-Identifier: Apache-2.0

/// The references of a set of sources. A set that names only roots which the function retains has
/// none, so that it is small.
internal final class DependencyDetails: @unchecked Sendable {
    // Unchecked: constants.
    /// The roots, in the order in which they were read first.
    let roots: [RootReference]
    let others: [OtherDependency]
    /// The derived values that were read, in order.
    let nodes: [NodeStep]
    /// The reads of the function, in order: the index of a root, or a `ReadStep`. Empty if no
    /// derived value was read: then a change of a source is a change of what the function reads.
    let steps: [Int32]

    init(_ collected: Collected) {
        (roots, others, nodes) = (collected.origins.map { $0.root! }, collected.others, collected.nodes)
        steps = nodes.isEmpty ? [] : collected.steps
    }
}

/// Encodes a step that does not read a root.
internal enum ReadStep {
    static var other: Int32 { .min }
    /// Converts the index of a derived value to a step, and back.
    static func node(_ index: Int) -> Int32 { -1 - Int32(index) }
    static func nodeIndex(_ step: Int32) -> Int { -1 - Int(step) }
}

/// A weak reference to a root. It keeps the root's memory, so that the version can be read when the
/// root is gone: then that is the last version. (P24)
internal struct RootReference: @unchecked Sendable {
    // Unchecked: a weak reference is read by any thread.

    /// Keeps the memory, not the object. Never followed.
    private unowned let memory: AnyObject
    private(set) weak var root: (any DerivationRoot)?

    init(_ root: any DerivationRoot) {
        memory = root
        self.root = root
    }
}

/// A derived value that the function has read. It is not retained: the function has made it, or
/// retains it.
internal final class NodeStep: @unchecked Sendable {
    // Unchecked: constants; a weak reference is read by any thread.
    private(set) weak var node: DerivationNode?
    /// The address of the derived value, which is compared and not followed.
    let address: UInt
    /// The set of the evaluation that was read.
    let set: DependencySet
    let words: DependencyWords
    /// The indices that the roots of `set` have among the roots of the evaluation that has read the
    /// derived value.
    let indices: [Int]

    init(_ node: DerivationNode, _ set: DependencySet, _ indices: [Int]) {
        self.node = node
        address = node.address
        (self.set, words, self.indices) = (set, set.words, indices)
    }
}
