// SPDX-License-Identifier: Apache-2.0

/// Where a root of a collection comes from.
internal enum Origin {
    case source(any DerivationRoot)
    /// The function retains it.
    case retained(any DerivationRoot)
    /// What a derived value was evaluated of that the function has read.
    case copied(RootReference)
    /// What the derived value was evaluated of before.
    case root(of: SourceWords, Int)

    var root: RootReference {
        switch self {
        case .source(let source), .retained(let source): RootReference(source)
        case .copied(let root): root
        case .root(let set, let index): set.object.details!.roots[index]
        }
    }

    /// Whether the function retains it.
    var isRetained: Bool {
        switch self {
        case .retained: true
        case .source, .copied: false
        case .root(let set, _): set.object.details.map { $0.roots.isEmpty } ?? true
        }
    }
}

/// What an evaluation has read, if that is not what the one before has read.
internal struct Collected {
    private(set) var addresses: [UInt] = []
    private(set) var origins: [Origin] = []
    var others: [OtherSource] = []
    var otherVersions: [UInt64] = []
    var nodes: [NodeStep] = []
    var steps: [Int32] = []
    /// Where each root is, if there are many.
    private var places: [UInt: Int] = [:]

    var isEmpty: Bool { steps.isEmpty }

    /// The index of a root, and whether it is new.
    mutating func place(_ address: UInt, _ origin: @autoclosure () -> Origin) -> (index: Int, isNew: Bool) {
        if let index = find(address) { return (index, false) }
        let index = addresses.count
        if index == Self.few { for (index, address) in addresses.enumerated() { places[address] = index } }
        if index >= Self.few { places[address] = index }
        addresses.append(address)
        origins.append(origin())
        return (index, true)
    }

    /// So many roots are looked through one after the other.
    static var few: Int { 8 }

    private func find(_ address: UInt) -> Int? {
        if addresses.count > Self.few { return places[address] }
        for index in 0..<addresses.count where addresses[index] == address { return index }
        return nil
    }

    /// Whether all has the versions that were read.
    func isStill(_ versions: borrowing VersionBuffer) -> Bool {
        for index in 0..<addresses.count where SourceSet.version(at: addresses[index]) != versions[index] {
            return false
        }
        return zip(others, otherVersions).allSatisfy { source, version in source.version == version }
    }
}

// MARK: - Sets

extension Collected {
    /// A set of what was read.
    ///
    /// - Parameter isSnapshot: Whether the function names its sources, and reads them before it computes.
    func makeSet(isSnapshot: Bool) -> SourceSet {
        let isPlain = isSnapshot && nodes.isEmpty && others.isEmpty && origins.allSatisfy(\.isRetained)
        return .make(
            addresses,
            isPlain ? nil : SourceDetails(origins.map(\.root), others, nodes, nodes.isEmpty ? [] : steps),
            isSnapshot: isSnapshot
        )
    }

    /// Whether a set is of the same. Of others it is not: each evaluation has its own.
    func isOf(_ set: SourceSet) -> Bool {
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
