// SPDX-License-Identifier: Apache-2.0

/// How an evaluation gets a reference to a root.
internal enum Origin {
    /// The root itself, and whether the function retains it.
    case read(any DerivationRoot, isRetained: Bool)
    /// A root of a derived value that the function has read, of a member of a ring, or of an
    /// earlier evaluation.
    case copied(RootReference)
    /// A root of an earlier evaluation, whose set has no reference to it, since the function
    /// retains it. A run on copies reads the root itself, and then has a reference.
    case hidden

    var root: RootReference? {
        switch self {
        case .read(let root, _): RootReference(root)
        case .copied(let root): root
        case .hidden: nil
        }
    }

    /// Whether the function retains the root.
    var isRetained: Bool {
        switch self {
        case .read(_, let isRetained): isRetained
        case .copied: false
        case .hidden: true
        }
    }
}

/// The roots, derived values and other sources that an evaluation has read. Used once these differ
/// from those of the previous evaluation.
internal struct Collected {
    private(set) var addresses: [UInt] = []
    private(set) var origins: [Origin] = []
    var others: [OtherDependency] = []
    var otherVersions: [UInt64] = []
    var nodes: [NodeStep] = []
    var steps: [Int32] = []
    /// The index of each root, by its address. Empty if there are at most `few` roots.
    private var places: [UInt: Int] = [:]

    var isEmpty: Bool { steps.isEmpty }

    /// Returns the index of the root at `address`, which is added if it is new.
    mutating func place(_ address: UInt, _ origin: @autoclosure () -> Origin) -> Int {
        if let index = find(address) { return index }
        let index = addresses.count
        if index == Self.few { for (index, address) in addresses.enumerated() { places[address] = index } }
        if index >= Self.few { places[address] = index }
        addresses.append(address)
        origins.append(origin())
        return index
    }

    /// The largest number of roots among which a linear search finds one. More are kept in a
    /// dictionary.
    static var few: Int { 8 }

    private func find(_ address: UInt) -> Int? {
        if addresses.count > Self.few { return places[address] }
        for index in 0..<addresses.count where addresses[index] == address { return index }
        return nil
    }

    /// Whether all other sources still have the versions that were read.
    var areOthersCurrent: Bool {
        zip(others, otherVersions).allSatisfy { other, version in other.version == version }
    }
}

// MARK: - Sets

extension Collected {
    /// Makes a set for what was read, without an evaluation.
    ///
    /// - Parameter isSnapshot: Whether the function reads all its sources before it computes.
    func makeSet(isSnapshot: Bool) -> DependencySet {
        let isPlain = isSnapshot && nodes.isEmpty && others.isEmpty && origins.allSatisfy(\.isRetained)
        return .make(addresses, isPlain ? nil : DependencyDetails(self), isSnapshot: isSnapshot)
    }

    /// Whether `set` names the same roots and derived values, in the same order. Always false if
    /// there are other sources: each evaluation that reads such sources has a set of its own.
    func isOf(_ set: DependencySet) -> Bool {
        let words = set.words
        guard others.isEmpty, !words.hasOthers, words.count == addresses.count, words.nodeCount == nodes.count else {
            return false
        }
        for index in 0..<addresses.count where words.address(index) != addresses[index] { return false }
        guard !nodes.isEmpty, let details = set.details else { return nodes.isEmpty }
        return details.steps == steps
            && zip(details.nodes, nodes).allSatisfy { $0.set === $1.set && $0.node === $1.node && $0.node != nil }
    }
}
