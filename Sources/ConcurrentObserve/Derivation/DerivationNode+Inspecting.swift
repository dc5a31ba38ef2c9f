// SPDX-License-Identifier: Apache-2.0

// A *root* is a property that stores its own value. Another source, such as a group, has no known
// roots: see `OtherDependency`.

/// The known facts about a derived value's evaluations, from which an explanation is made.
package struct InspectedDerivation: Sendable {
    /// The file and the line that made the derived value.
    package let place: String
    package let isEvaluated: Bool
    /// The number of runs that were recorded; nil if no recording goes on.
    package let runs: Int?
    /// The sources that the last evaluation has read, in the order of their first reads.
    package let reads: [InspectedRead]
    /// The sources that the evaluation before the last run read, and that the last run did not
    /// read.
    package let left: [InspectedRead]
}

/// A source that a derived value's function has read.
package struct InspectedRead: Sendable {
    /// The source's label in quotes. Without a label: the place where a derived value was made, or
    /// the type of another source.
    package let name: String
    /// The version that the evaluation before the last run has read; nil if that is not known, or
    /// if it has not read the source.
    package fileprivate(set) var before: UInt64?
    package let version: UInt64
    /// Whether the source has changed since it was read; nil if only an evaluation or a read of the
    /// source can show it.
    package let hasChanged: Bool?
    /// A number that identifies the source. It is only compared. Nil for a source that is no
    /// object: such sources are compared by the order of their reads and by their names.
    fileprivate let address: UInt?
}

extension DerivationNode {
    /// Describes the last evaluation, and, if runs are recorded, the evaluation before the last
    /// run. It evaluates nothing. Any thread may call it, while it holds no lock.
    ///
    /// A source whose roots are not known runs its own code when its version is read. Inside the
    /// function of a derived value this version is not read, because that code could need this
    /// derived value. (P25)
    package final func inspect() -> InspectedDerivation {
        ThreadRecord.withUserCode {
            let recording = ObservationScope.recordingNumber
            let (kept, present) = lock.withLock { () -> (RunNotes?, ReadVersions?) in
                let present = retainPresent()
                return (notes, present.isNone ? nil : ReadVersions(locked: present))
            }
            let noted = recording != 0 && kept?.recording == recording ? kept : nil
            var reads = present.map(describe) ?? []
            let before = noted?.before.map(describe) ?? []
            for index in reads.indices where reads[index].address != nil {
                reads[index].before = before.first { $0.address == reads[index].address }?.version
            }
            let nameless = reads.indices.filter { reads[$0].address == nil }
            let namelessBefore = before.filter { $0.address == nil }
            if nameless.map({ reads[$0].name }) == namelessBefore.map(\.name) {
                for (index, read) in zip(nameless, namelessBefore) { reads[index].before = read.version }
            }
            return InspectedDerivation(
                place: place.text,
                isEvaluated: present != nil,
                runs: recording == 0 ? nil : noted?.runs ?? 0,
                reads: reads,
                left: before.filter { read in
                    read.address != nil && !reads.contains { $0.address == read.address }
                }
            )
        }
    }

    /// Describes the sources that the function itself has read in an evaluation. If one of them is
    /// a derived value, its own sources are not included.
    private final func describe(_ versions: ReadVersions) -> [InspectedRead] {
        let (set, words) = (versions.set, versions.set.words)
        let roots = words.count == 0 ? [] : self.roots(of: set)
        let others = set.details?.others ?? []
        let changed = (0..<words.count).map { DependencySet.version(at: words.address($0)) != versions.roots[$0] }
        let isEvaluating = EvaluationStack.current.isEvaluating
        /// Whether a source without known roots has changed since it was read; nil if its version
        /// may not be read here.
        func hasChanged(_ index: Int) -> Bool? { isEvaluating ? nil : others[index].version != versions.others[index] }
        var steps = set.details?.steps ?? []
        if steps.isEmpty { steps = roots.indices.map(Int32.init) + others.map { _ in ReadStep.other } }
        var (reads, nextOther) = ([InspectedRead](), 0)
        for step in steps {
            let (name, version, hasSourceChanged, address): (String, UInt64, Bool?, UInt?)
            if step >= 0 {
                let root = roots[Int(step)].root
                let known = root.map { $0.label.isEmpty ? String(describing: type(of: $0)) : "'\($0.label)'" }
                name = known ?? "a property that is gone"
                (version, hasSourceChanged) = (versions.roots[Int(step)], changed[Int(step)])
                address = words.address(Int(step))
            } else if step == ReadStep.other {
                (name, address) = (others[nextOther].name, others[nextOther].identity)
                (version, hasSourceChanged) = (versions.others[nextOther], hasChanged(nextOther))
                nextOther += 1
            } else {
                let index = ReadStep.nodeIndex(step)
                let node = set.details!.nodes[index]
                let itsOthers = nextOther..<nextOther + (node.set.details?.others.count ?? 0)
                nextOther = itsOthers.upperBound
                name = "derived value at \(node.node?.place.text ?? "a place that is gone")"
                (version, address) = (versions.nodes[index], node.address)
                let mayHaveChanged =
                    node.indices.contains { changed[$0] } || itsOthers.contains { hasChanged($0) != false }
                let hasOtherResult = node.node.map { $0.load().version != version } ?? false
                hasSourceChanged = hasOtherResult ? true : mayHaveChanged ? nil : false
            }
            if address == nil || !reads.contains(where: { $0.address == address }) {
                reads.append(
                    InspectedRead(name: name, version: version, hasChanged: hasSourceChanged, address: address)
                )
            }
        }
        return reads
    }
}
