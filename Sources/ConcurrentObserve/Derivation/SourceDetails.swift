// SPDX-License-Identifier: Apache-2.0

/// What a set of sources has beside roots that the function retains.
internal final class SourceDetails: @unchecked Sendable {
    // Unchecked: constants.
    /// The roots, in the order in which they were read first.
    let roots: [RootReference]
    let others: [OtherSource]
    /// The derived values that were read, in order.
    let nodes: [NodeStep]
    /// What the function has read, in order: the index of a root, or `ReadStep`. Empty if that is roots alone, or roots
    /// and others: then a change of one of them is a change of what the function reads.
    let steps: [Int32]

    init(_ roots: [RootReference], _ others: [OtherSource], _ nodes: [NodeStep], _ steps: [Int32]) {
        (self.roots, self.others, self.nodes, self.steps) = (roots, others, nodes, steps)
    }
}

/// How a step says that it is not a root's.
internal enum ReadStep {
    static var other: Int32 { .min }
    /// Of the derived value at an index, and back.
    static func node(_ index: Int) -> Int32 { -1 - Int32(index) }
    static func nodeIndex(_ step: Int32) -> Int { -1 - Int(step) }
}

/// A root, not retained. Its memory is: what says its version can be read when it is gone, and is the last then. (P24)
internal struct RootReference: @unchecked Sendable {
    // Unchecked: a weak reference is read by any thread.

    /// Keeps the memory, not the object: never followed.
    private unowned let memory: AnyObject
    private(set) weak var source: (any DerivationRoot)?

    init(_ source: any DerivationRoot) {
        memory = source
        self.source = source
    }
}

/// A derived value that the function has read, not retained: the function has made it, or has it.
internal final class NodeStep: @unchecked Sendable {
    // Unchecked: constants; a weak reference is read by any thread.
    private(set) weak var node: (any DerivationNode)?
    /// Compared, not followed.
    let address: UInt
    /// What it was evaluated of.
    let set: SourceSet
    let words: SourceWords
    /// Which root of the reading value's set each of them is.
    let indices: [Int]

    init(_ node: any DerivationNode, _ set: SourceSet, _ indices: [Int]) {
        self.node = node
        address = UInt(bitPattern: ObjectIdentifier(node))
        (self.set, words, self.indices) = (set, set.words, indices)
    }
}

/// A derived value, whatever its type.
internal protocol DerivationNode: AnyObject, Sendable {
    /// Evaluates it if it is not current, and notes in `collector` what it is made of. Returns the version of its result.
    func note(in collector: Collector) -> UInt64
    /// The roots of a set of its own, which need not be current.
    func roots(of set: SourceSet) -> [RootReference]
    /// An evaluation that was current during the call.
    func refresh() -> Present
    /// Runs the function.
    func run(_ collector: Collector)
    /// Has a replaced result destroyed. Under no lock.
    func retire(_ words: Latch.Words)
    /// Destroys a result that no other thread has seen. Under no lock.
    func discard(_ words: Latch.Words)
    /// Retains what the function of a successor needs; false if some of it is gone.
    func hold(_ held: inout HeldSources) -> Bool
    /// The last observer of an observation has ended.
    func forget(_ observation: DerivedObservation)
    /// Ends the observation with `.sourceDeleted`. For the last who has the derived value.
    func endObservation()
}
