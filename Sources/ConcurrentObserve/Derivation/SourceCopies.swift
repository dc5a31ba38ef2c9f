// SPDX-License-Identifier: Apache-2.0

/// Stands for a root: a property that has the value which the root had at a version.
internal struct SourceCopy {
    let property: PathObject
    let version: UInt64
    /// What a weak property refers to, which the function is to find however late it reads the copy.
    let referent: AnyObject?
}

/// What roots had at one moment, and what derived values are of that: what a function reads whose sources change faster than it runs.
/// (P23, P24)
///
/// It belongs to one evaluation, and to those inside it.
internal final class SourceCopies {
    /// All that was read so far, and is not copied yet, among what is.
    private var roots: [UInt: any DerivationRoot] = [:]
    private var copies: [UInt: SourceCopy] = [:]
    private var results: [ObjectIdentifier: CopiedResult] = [:]
    /// Of these there is no copy, as long as there are those of the others.
    private var refused: Set<UInt> = []
    /// No later than that of the copies: what has not changed since was there with them.
    private var moment: UInt64

    /// What stands for the members of a commit while its body runs, if the function is to read the drafts.
    let drafts: DraftCopies?

    /// With no copies yet.
    init(_ drafts: DraftCopies? = nil) {
        self.drafts = drafts
        ChangeStamps.begin()
        moment = ChangeStamps.advance()
    }

    deinit { ChangeStamps.end() }

    /// From the next time on these are copied, too.
    func add(_ origins: [Origin]) {
        for origin in origins {
            guard let source = origin.root.source, drafts?.copy(of: source) == nil else { continue }
            roots[source.versionAddress] = source
        }
    }

    /// Copies all that was read, while the publication of each is held off. Under no lock; waits as a snapshot of a group. (P20)
    ///
    /// - Returns: What this replaces, to be released elsewhere.
    func take() -> AnyObject? {
        if roots.isEmpty { return nil }
        let replaced = Replaced(copies, results)
        (results, refused) = ([:], [])
        moment = ChangeStamps.advance()
        copies = taken
        return replaced
    }

    private final class Replaced {
        private let copies: [UInt: SourceCopy]
        private let results: [ObjectIdentifier: CopiedResult]

        init(_ copies: [UInt: SourceCopy], _ results: [ObjectIdentifier: CopiedResult]) {
            (self.copies, self.results) = (copies, results)
        }
    }

    private var taken: [UInt: SourceCopy] {
        let roots = roots
        let members = GroupMembers { found in for root in roots.values { found.add(root) } }
        // In the child of a fork perhaps none: then the function runs on what is there.
        return withExtendedLifetime(members) {
            Snapshots.takeUnlessForsaken(members) { roots.mapValues { $0.copy() } } ?? [:]
        }
    }

    /// That of a root; nil if there was none when the others were taken, and the root has changed since.
    func copy(of root: any DerivationRoot) -> SourceCopy? {
        if let draft = drafts?.copy(of: root) { return draft }
        let address = root.versionAddress
        if let copy = copies[address] { return copy }
        if refused.contains(address) { return nil }
        let copy = admit(root)
        if copy == nil { refused.insert(address) }
        return copy
    }

    /// Copies a root that is met for the first time, if it has not changed since the others were copied: it was there with them.
    private func admit(_ root: any DerivationRoot) -> SourceCopy? {
        let moment = moment
        let members = GroupMembers { found in found.add(root) }
        let copy: SourceCopy?? = withExtendedLifetime(members) {
            Snapshots.takeUnlessForsaken(members) { .some(root.member.isUnchanged(since: moment) ? root.copy() : nil) }
        }
        guard let copy = copy ?? nil else { return nil }
        copies[root.versionAddress] = copy
        roots[root.versionAddress] = root
        return copy
    }

    /// Whether all that was read was read of the copies.
    func cover(_ collected: Collected, _ versions: borrowing VersionBuffer) -> Bool {
        for (index, address) in collected.addresses.enumerated()
        where copies[address]?.version != versions[index] && drafts?.has(address) != true {
            return false
        }
        // Of others there is no copy.
        return collected.others.isEmpty
    }

    // MARK: Results

    /// That of a derived value for the copies.
    func result(of derived: any DerivationNode) -> CopiedResult? {
        return results[ObjectIdentifier(derived)]
    }

    func keep(_ result: CopiedResult) { results[ObjectIdentifier(result.derived)] = result }
}

/// The result of a derived value for copies, and what it was made of. It is published nowhere.
///
/// A read of a mixture is kept, too, as long as the copies are: the evaluation that it belongs to fails, and has run it once.
internal final class CopiedResult {
    let derived: any DerivationNode
    let words: Latch.Words
    private let isInline: Bool
    let sources: [(root: any DerivationRoot, version: UInt64)]
    let others: [(source: OtherSource, version: UInt64)]
    let isTorn: Bool
    /// The lowest evaluation on the thread's stack on whose answer it depends; see `RingPart`.
    let lowest: Int

    /// Takes over what an evaluation has collected, and its result.
    init(_ derived: any DerivationNode, _ collector: Collector) {
        (self.derived, words) = (derived, collector.outcome.result)
        isInline = collector.outcome.isInline
        let read = collector.state.collected
        sources = read.addresses.indices.compactMap { index in
            read.origins[index].root.source.map { ($0, collector.state.versions[index]) }
        }
        others = Array(zip(read.others, read.otherVersions))
        isTorn = collector.state.isTorn
        lowest = collector.isInsideRing ? collector.state.ring!.lowest : .max
    }

    deinit { if !isInline { derived.discard(words) } }
}

extension Observed {
    func copy() -> SourceCopy {
        let (value, version) = snapshot()
        return SourceCopy(property: Observed(value), version: version, referent: referent(in: value))
    }

    func referent(in value: Value) -> AnyObject? {
        return (value as? any RefersWeakly)?.present
    }
}

// MARK: - Evaluating on copies

extension Collector {
    /// Notes that a source has changed meanwhile: after several times the function runs on copies.
    @usableFromInline
    func noteFailure() {
        state.failures += 1
        if outcome.isOnCopies || state.failures >= Self.mostFailures { copySources() }
    }

    /// More than it takes to find a function that sets what it has read: see `SelfWatch`.
    private static var mostFailures: Int {
        return 12
    }

    /// Has the function, and those of the derived values that it reads, run on copies from now on: of all that was read so far.
    func copySources() {
        let copies = state.copies ?? SourceCopies()
        state.copies = copies
        copies.add(state.collected.origins)
        release(copies.take())
        outcome.isOnCopies = true
    }

    /// Has an evaluation that is about to begin run on copies, of what others have read. Their own runs are in vain.
    func copyWhat(_ others: [Collector]) {
        let copies = SourceCopies()
        for other in others { copies.add(other.state.collected.origins) }
        release(copies.take())
        use(copies, after: Self.mostFailures)
    }

    func use(_ copies: SourceCopies, after failures: Int) {
        state.copies = copies
        // With one, `clear` has something to do.
        state.failures = failures
        outcome.isOnCopies = true
    }

    /// Begins an evaluation inside another, for which alone it is.
    func begin(onCopiesOf collector: Collector) {
        if !outcome.isOnCopies { use(collector.state.copies!, after: collector.state.failures) }
        begin(after: .none, watch: nil)
    }

    /// The result of a derived value for a function that runs on copies. It is published nowhere: the copies keep it.
    func evaluateOnCopies(_ derived: any DerivationNode, _ cell: borrowing DerivationCell) -> Latch.Words {
        let copies = state.copies!
        if let kept = copies.result(of: derived) { return note(kept) }
        var words: Latch.Words?
        _ = EvaluationStack.current.perform(derived, cell.place, isOnCopies: true, for: self) { inner in
            inner.begin(onCopiesOf: self)
            ThreadRecord.withUserCode { cell.run(inner) }
            let result = CopiedResult(derived, inner)
            copies.keep(result)
            words = note(result)
            return .none
        }
        return words ?? takeAnswer()
    }

    /// Notes what a result was made of, and returns its words.
    func note(_ result: CopiedResult) -> Latch.Words {
        for (root, version) in result.sources { add(root.versionAddress, version, .source(root)) }
        for (source, version) in result.others { note(source, version) }
        if result.isTorn { state.isTorn = true }
        if result.lowest < .max { enterRing(result.lowest) }
        return result.words
    }

    /// What stands for a root, if the function runs on copies, and there is one of this.
    func copy(of root: any DerivationRoot) -> SourceCopy? { state.copies?.copy(of: root) }

    /// The copies are released elsewhere: the values that go with them run user code. (P5)
    func endCopies() {
        guard outcome.isOnCopies else { return }
        outcome.isOnCopies = false
        guard isKnownUniquelyReferenced(&state.copies) else { return state.copies = nil }
        release(state.copies.take())
    }

    private func release(_ object: consuming AnyObject?) {
        guard let object else { return }
        var objects = [object]
        ThreadRecord.retire(DeferredAction(for: self, releasing: &objects))
    }
}
