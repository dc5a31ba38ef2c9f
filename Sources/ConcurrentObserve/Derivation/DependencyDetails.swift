// SPDX-License-Identifier: Apache-2.0

// A *root* is a property that stores its own value. A *set* is a `DependencySet`: it names the
// sources that evaluations of a derived value have read, and stores the last of these evaluations.
// The comment at the top of `Derived.swift` explains this folder.

/// References to the sources that a set names, and the order in which they were read. A set that
/// names only roots has no details if the function retains these roots.
internal final class DependencyDetails: @unchecked Sendable {
    // Unchecked: constants.
    /// The roots, in the order in which they were read first.
    let roots: [RootReference]
    let others: [any OtherDependency]
    /// The derived values that were read, in order.
    let nodes: [NodeStep]
    /// The reads of the function, in order. A *step* is the index of a root, or a `ReadStep`. Empty
    /// if the function read no derived value: each changed root is then a changed read, and the
    /// order is not needed.
    let steps: [Int32]
    /// The addresses of the derived values that were evaluated on the same copies as this one, if
    /// the result was computed with the error of a ring; otherwise empty. They are only compared.
    let ringMembers: Set<UInt>

    init(_ collected: Collected, _ ringMembers: Set<UInt>) {
        self.ringMembers = ringMembers
        (roots, others, nodes) = (collected.origins.map { $0.root! }, collected.others, collected.nodes)
        steps = nodes.isEmpty ? [] : collected.steps
    }
}

/// Encodes a step that does not read a root.
internal enum ReadStep {
    /// The step that reads a source whose roots are not known.
    static var other: Int32 { .min }
    /// Converts the index of a derived value in `DependencyDetails.nodes` to a step.
    static func node(_ index: Int) -> Int32 { -1 - Int32(index) }
    /// Converts the step of a derived value to its index in `DependencyDetails.nodes`.
    static func nodeIndex(_ step: Int32) -> Int { -1 - Int(step) }
}

/// A weak reference to a root. It keeps the root's memory, so that the root's last version can be
/// read after the root is gone. (P24)
internal struct RootReference: @unchecked Sendable {
    // Unchecked: any thread may read a weak reference.

    /// Keeps the root's memory allocated after the root is gone, but does not keep the root alive.
    /// No code reads this reference.
    private unowned let memory: AnyObject
    private(set) weak var root: (any DerivationRoot)?

    init(_ root: any DerivationRoot) {
        memory = root
        self.root = root
    }
}

/// The read of a derived value. This object does not retain the derived value, because the function
/// has made it, or retains it.
internal final class NodeStep: @unchecked Sendable {
    // Unchecked: constants, and a weak reference, which any thread may read.
    private(set) weak var node: DerivationNode?
    /// The address of the derived value. It is only compared.
    let address: UInt
    /// The set of the evaluation that was read.
    let set: DependencySet
    /// The indices that the roots of `set` have among the roots of the evaluation that has read the
    /// derived value.
    let indices: [Int]

    init(_ node: DerivationNode, _ set: DependencySet, _ indices: [Int]) {
        self.node = node
        address = node.address
        (self.set, self.indices) = (set, indices)
    }
}
