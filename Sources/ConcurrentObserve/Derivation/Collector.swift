// SPDX-License-Identifier: Apache-2.0

/// Collects what one evaluation reads: which roots, at which versions.
///
/// It belongs to the thread that evaluates.
internal final class Collector {
    /// Where a root of the collection comes from.
    private enum Origin {
        case source(any DerivationRoot)
        /// What a derived value was evaluated of that the function has read.
        case root(of: SourceSet, Int)
    }

    /// What was collected.
    struct Collected {
        let sources: SourceSet
        let versions: [UInt64]
        let otherVersions: [UInt64]
        let steps: [EvaluationRecord.Step]
    }

    private let thread = ThreadRecord.ownAddress
    private var addresses: [UInt] = []
    private var origins: [Origin] = []
    private var versions: [UInt64] = []
    private var others: [OtherSource] = []
    private var otherVersions: [UInt64] = []
    private var steps: [EvaluationRecord.Step] = []
    private var hasDerived = false
    /// Where each root is, if there are many.
    private var places: [UInt: Int] = [:]
    /// Whether one root was read at two versions.
    private var isTorn = false
    /// Whether the function has run on a snapshot that was complete before: what came later does not concern it.
    var isSnapshot = false
    /// Looks out for the thread's own changes of what it has read; nil while that is not suspected.
    let watch: SelfWatch?

    init(watch: SelfWatch? = nil) { self.watch = watch }

    /// Forgets what was collected.
    func clear() {
        addresses.removeAll(keepingCapacity: true)
        origins.removeAll(keepingCapacity: true)
        versions.removeAll(keepingCapacity: true)
        others.removeAll()
        otherVersions.removeAll()
        steps.removeAll(keepingCapacity: true)
        places.removeAll()
        (isTorn, hasDerived) = (false, false)
    }
}

// MARK: - Reading

extension Collector {
    /// The value of any property.
    func read<Property: ObservableProperty>(_ property: Property) -> Property.Value {
        if let source = property as? any DerivationSource<Property.Value> { return source.read(into: self) }
        let (value, version) = property.snapshot()
        note(OtherProperty(property), version)
        return value
    }

    /// How properties of a type are read: looked for once, since the runtime takes its time for that.
    static func way<Property: ObservableProperty>(
        to property: Property
    ) -> @Sendable (Collector) -> Property.Value {
        if let source = property as? any DerivationSource<Property.Value> { return source.way }
        return { collector in collector.read(property) }
    }

    /// Traps on another thread, which would change the collection at the same time.
    func trapElsewhere() {
        guard ThreadRecord.ownAddress != thread else { return }
        fatalError(
            "ConcurrentObserve: the function of a derived value has handed its reader to another thread. Read on the thread that runs the function, and hand on the values."
        )
    }

    /// A root was read.
    func note(_ source: any DerivationRoot, _ version: UInt64) {
        watch?.look(at: source)
        let index = place(source.versionAddress, version, .source(source))
        steps.append(.root(index))
        inject("derived.read")
    }

    /// A root is still at the version that an earlier evaluation has read.
    func note(rootOf record: EvaluationRecord, _ index: Int) {
        let address = record.sources.addresses[index]
        steps.append(.root(place(address, record.versions[index], .root(of: record.sources, index))))
    }

    /// Another source was read.
    func note(_ source: OtherSource, _ version: UInt64) {
        steps.append(.other(others.count))
        others.append(source)
        otherVersions.append(version)
    }

    /// A derived value was read: with it all that it was evaluated of.
    func note(_ node: any DerivationNode, _ record: EvaluationRecord) {
        hasDerived = true
        steps.append(.derived(EvaluationRecord.WeakNode(node: node), record.version))
        for index in 0..<record.versions.count {
            if let watch { record.sources.roots[index].source.map(watch.look) }
            _ = place(record.sources.addresses[index], record.versions[index], .root(of: record.sources, index))
        }
        others += record.sources.others
        otherVersions += record.otherVersions
        inject("derived.read")
    }

    /// The index of a root, which is new or not.
    private func place(_ address: UInt, _ version: UInt64, _ origin: Origin) -> Int {
        if let index = find(address) {
            if versions[index] != version { isTorn = true }
            return index
        }
        let index = addresses.count
        if index == Self.few { for (index, address) in addresses.enumerated() { places[address] = index } }
        if index >= Self.few { places[address] = index }
        addresses.append(address)
        versions.append(version)
        origins.append(origin)
        return index
    }

    /// So many roots are looked through one after the other.
    private static var few: Int { 8 }

    private func find(_ address: UInt) -> Int? {
        if addresses.count > Self.few { return places[address] }
        for index in 0..<addresses.count where addresses[index] == address { return index }
        return nil
    }
}

// MARK: - The end

extension Collector {
    /// Whether all that was read was there together: it is there still. The second half of a double
    /// collect. (P23)
    var isConsistent: Bool {
        #if INSTRUMENTED
        if mutant(.anEvaluationOfMixedVersionsIsPublished) { return true }
        #endif
        return isStill
    }

    private var isStill: Bool {
        if isTorn { return false }
        for index in 0..<addresses.count where SourceSet.version(at: addresses[index]) != versions[index] {
            return false
        }
        return zip(others, otherVersions).allSatisfy { source, version in source.version == version }
    }

    /// What was collected. Shares the sources of an earlier evaluation that has read the same.
    func finish(after base: EvaluationRecord) -> Collected {
        let isSame = others.isEmpty && base.sources.others.isEmpty && base.sources.addresses == addresses
        let sources = isSame ? base.sources : SourceSet(addresses, origins.map(Self.root), others)
        return Collected(
            sources: sources,
            versions: versions,
            otherVersions: otherVersions,
            steps: hasDerived ? steps : []
        )
    }

    private static func root(_ origin: Origin) -> SourceSet.Root {
        switch origin {
        case .source(let source): SourceSet.Root(source)
        case .root(let set, let index): set.roots[index]
        }
    }
}
