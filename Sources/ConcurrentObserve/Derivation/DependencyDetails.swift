// SPDX-License-Identifier: Apache-2.0

/// The references of a set of sources. A set that names only roots which the function retains has
/// none.
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

    init(_ roots: [RootReference], _ others: [OtherDependency], _ nodes: [NodeStep], _ steps: [Int32]) {
        (self.roots, self.others, self.nodes, self.steps) = (roots, others, nodes, steps)
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
    private(set) weak var source: (any DerivationRoot)?

    init(_ source: any DerivationRoot) {
        memory = source
        self.source = source
    }
}

/// A derived value that the function has read. It is not retained: the function has made it, or
/// retains it.
internal final class NodeStep: @unchecked Sendable {
    // Unchecked: constants; a weak reference is read by any thread.
    private(set) weak var node: (any DerivationNode)?
    /// Compared, not followed.
    let address: UInt
    /// The set of the evaluation that was read.
    let set: DependencySet
    let words: DependencyWords
    /// The index, in the reading value's set, of each root of that set.
    let indices: [Int]

    init(_ node: any DerivationNode, _ set: DependencySet, _ indices: [Int]) {
        self.node = node
        address = UInt(bitPattern: ObjectIdentifier(node))
        (self.set, words, self.indices) = (set, set.words, indices)
    }
}

/// A derived value, without its type.
internal protocol DerivationNode: AnyObject, Sendable {
    /// Evaluates the derived value if it is not current, and notes in `collector` what it is made
    /// from. Returns the version of the result, or the highest number if that is not known.
    func note(in collector: Collector) -> UInt64
    /// Returns the roots of one of the derived value's sets, which need not be the present one.
    func roots(of set: DependencySet) -> [RootReference]
    /// Returns an evaluation that was current during the call.
    func refresh() -> Present
    /// Runs the function.
    func run(_ collector: Collector)
    /// Makes a result a change for the observers, if there are some. Returns the words that their
    /// property had before. The caller must hold the cell's lock.
    func publish(_ words: Latch.Words) -> Latch.Words?
    /// Retires a replaced result. The caller must hold no lock.
    func retire(_ words: Latch.Words)
    /// Destroys a result that no other thread has seen. The caller must hold no lock.
    func discard(_ words: Latch.Words)
    /// Retains what the function of a successor needs. Returns false if some of it is gone.
    func hold(_ held: inout HeldSources) -> Bool
    /// Removes an observation whose last observer has ended.
    func forget(_ observation: DerivedObservation)
    /// Ends the observation with `.sourceDeleted`. The caller must be the only user of the derived
    /// value.
    func endObservation()
}
