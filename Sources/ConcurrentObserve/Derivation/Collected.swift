// SPDX-License-Identifier: Apache-2.0

// A *root* is a property that stores its own value. A *set* is a `DependencySet`: it names the
// sources that evaluations of a derived value have read, and stores the last of these evaluations.
// An *other source* is one whose roots are not known: see `OtherDependency`. The comment at the top
// of `Derived.swift` explains this folder.

/// The ways in which an evaluation gets a reference to a root.
internal enum Origin {
    /// The function has read the root itself. `isRetained` says whether the function retains it.
    case read(any DerivationRoot, isRetained: Bool)
    /// The reference is copied: from a derived value that the function has read, from a result that
    /// was computed on copies, or from an earlier evaluation.
    case copied(RootReference)
    /// The root is known from an earlier evaluation. That evaluation's set has no reference to the
    /// root, because the function retains the root. With references, a derived value of two
    /// properties would take more than 256 bytes. A run on copies reads the root itself, and then
    /// has a reference.
    case hidden

    var root: RootReference? {
        switch self {
        case .read(let root, _): RootReference(root)
        case .copied(let root): root
        case .hidden: nil
        }
    }

    /// This origin, for a function that does not retain the root.
    var unretained: Origin {
        if case .read(let root, _) = self { .read(root, isRetained: false) } else { self }
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

/// The roots, derived values and other sources that an evaluation has read. An evaluation uses it
/// once its reads differ from those of the previous evaluation.
internal struct Collected {
    private(set) var addresses: [UInt] = []
    private(set) var origins: [Origin] = []
    var others: [any OtherDependency] = []
    var otherVersions: [UInt64] = []
    var nodes: [NodeStep] = []
    var steps: [Int32] = []
    /// The index of each root, by its address. Empty if there are at most `few` roots.
    private var places: [UInt: Int] = [:]

    var isEmpty: Bool { steps.isEmpty }

    /// Returns the index of the root at `address`. If the root is new, adds it with `origin`.
    mutating func place(_ address: UInt, _ origin: @autoclosure () -> Origin) -> Int {
        if let index = find(address) { return index }
        let index = addresses.count
        if index == Self.few { for (index, address) in addresses.enumerated() { places[address] = index } }
        if index >= Self.few { places[address] = index }
        addresses.append(address)
        origins.append(origin())
        return index
    }

    /// The largest number of roots for which `find(_:)` searches the array. With more roots it uses
    /// the dictionary `places`.
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
    /// Makes a set that names the sources that were read, and has no evaluation yet.
    ///
    /// - Parameters:
    ///   - isSnapshot: Whether the function reads all its sources before it computes.
    ///   - ringMembers: If the result was computed with the error of a ring, the addresses of the
    ///     derived values that were evaluated on the same copies; otherwise empty.
    func makeSet(isSnapshot: Bool, _ ringMembers: Set<UInt>) -> DependencySet {
        let isPlain =
            isSnapshot && nodes.isEmpty && others.isEmpty && ringMembers.isEmpty && origins.allSatisfy(\.isRetained)
        return .make(addresses, isPlain ? nil : DependencyDetails(self, ringMembers), isSnapshot: isSnapshot)
    }

    /// Whether `set` names the same roots and derived values, in the same order. Always false if
    /// there are other sources, or for a ring: each such evaluation has a set of its own.
    func isOf(_ set: DependencySet) -> Bool {
        let words = set.words
        guard others.isEmpty, words.isReusable, words.count == addresses.count, words.nodeCount == nodes.count else {
            return false
        }
        for index in 0..<addresses.count where words.address(index) != addresses[index] { return false }
        guard !nodes.isEmpty, let details = set.details else { return nodes.isEmpty }
        return details.steps == steps
            && zip(details.nodes, nodes).allSatisfy { $0.set === $1.set && $0.node === $1.node && $0.node != nil }
    }
}
