// SPDX-License-Identifier: Apache-2.0

/// A property that stands for a root. It has the value that the root had at a version.
internal struct SourceCopy {
    let property: PathObject
    let version: UInt64
    /// The referent of a weak property. It is kept so that the function finds it, however late it
    /// reads the copy.
    let referent: AnyObject?
}

/// Copies of roots, which were present together, and the results of derived values for these
/// copies. A function whose sources change faster than it runs reads them. (P23, P24)
///
/// They belong to one evaluation, and to those inside it.
internal final class SourceCopies {
    /// The roots to copy: all that were read so far, whether they are copied already or not.
    private var roots: [UInt: any DerivationRoot] = [:]
    private var copies: [UInt: SourceCopy] = [:]
    private var results: [ObjectIdentifier: CopiedResult] = [:]
    /// Roots that could not be copied consistently with the current copies.
    private var refused: Set<UInt> = []
    /// A stamp taken just before copying. A root unchanged since then is consistent with the
    /// copies.
    private var moment: UInt64

    /// Stands for the members of a commit while its body runs, if the function must read the
    /// drafts.
    let drafts: DraftCopies?

    /// Begins without copies.
    init(_ drafts: DraftCopies? = nil) {
        self.drafts = drafts
        ChangeStamps.begin()
        moment = ChangeStamps.advance()
    }

    deinit { ChangeStamps.end() }

    /// Adds roots, which the next `take()` copies, too.
    func add(_ origins: [Origin]) {
        for origin in origins {
            guard let source = origin.root.source, drafts?.copy(of: source) == nil else { continue }
            roots[source.versionAddress] = source
        }
    }

    /// Copies all roots while their publication is held off. The caller must hold no lock. Waits as
    /// a snapshot of a group does. (P20)
    ///
    /// - Returns: The replaced copies and results, which the caller releases elsewhere.
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
        return withExtendedLifetime(members) {
            Snapshots.takeHeld(members) { roots.mapValues { $0.copy() } }
        }
    }

    /// Returns the copy of a root. Returns nil if the root was not copied with the others, and has
    /// changed since.
    func copy(of root: any DerivationRoot) -> SourceCopy? {
        if let draft = drafts?.copy(of: root) { return draft }
        let address = root.versionAddress
        if let copy = copies[address] { return copy }
        if refused.contains(address) { return nil }
        let copy = admit(root)
        if copy == nil { refused.insert(address) }
        return copy
    }

    /// Copies a root that is read for the first time, if it has not changed since the others were
    /// copied: then its value was present with theirs.
    private func admit(_ root: any DerivationRoot) -> SourceCopy? {
        let moment = moment
        let members = GroupMembers { found in found.add(root) }
        let copy = withExtendedLifetime(members) {
            Snapshots.takeHeld(members) { .some(root.member.isUnchanged(since: moment) ? root.copy() : nil) }
        }
        guard let copy else { return nil }
        copies[root.versionAddress] = copy
        roots[root.versionAddress] = root
        return copy
    }

    /// Whether every value read so far came from the copies.
    func cover(_ collected: Collected, _ versions: borrowing VersionBuffer) -> Bool {
        for (index, address) in collected.addresses.enumerated()
        where copies[address]?.version != versions[index] && drafts?.has(address) != true {
            return false
        }
        // There are no copies of other sources.
        return collected.others.isEmpty
    }

    // MARK: Results

    /// Returns the result of a derived value for the copies, if there is one.
    func result(of derived: any DerivationNode) -> CopiedResult? {
        return results[ObjectIdentifier(derived)]
    }

    func keep(_ result: CopiedResult) { results[ObjectIdentifier(result.derived)] = result }
}

/// The result of a derived value for copies, or in a reported ring, and the versions that it was
/// made from. It is not published.
///
/// The copies keep the result of a mixture, too. The evaluation that has read it fails, but the
/// function has run only once.
internal final class CopiedResult {
    let derived: any DerivationNode
    let words: Latch.Words
    private let isInline: Bool
    let sources: [(root: any DerivationRoot, version: UInt64)]
    let others: [(source: OtherSource, version: UInt64)]
    let isTorn: Bool
    /// The level of the lowest evaluation on the thread's stack on whose answer the result depends;
    /// see `RingPart`.
    let lowest: Int

    /// Takes over the result of an evaluation, and copies what it has collected.
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
    /// Counts a run or a read during which a source has changed. After `mostFailures` of these, the
    /// function runs on copies.
    @usableFromInline
    func noteFailure() {
        state.failures += 1
        if outcome.isOnCopies || state.failures >= Self.mostFailures { copySources() }
    }

    /// More failures than it takes to find a function that sets what it has read: see `SelfWatch`.
    private static var mostFailures: Int {
        return 12
    }

    /// Copies all that was read so far. From now on the function runs on copies, and so do the
    /// functions of derived values that it reads.
    func copySources() {
        let copies = state.copies ?? SourceCopies()
        state.copies = copies
        copies.add(state.collected.origins)
        release(copies.take())
        outcome.isOnCopies = true
    }

    /// Makes the evaluation that is about to begin run on copies of what `others` have read. The
    /// current runs of these will be discarded.
    func copyWhat(_ others: [Collector]) {
        let copies = SourceCopies()
        for other in others { copies.add(other.state.collected.origins) }
        release(copies.take())
        use(copies, after: Self.mostFailures)
    }

    func use(_ copies: SourceCopies, after failures: Int) {
        state.copies = copies
        // At least one, so that clear() frees the copies.
        state.failures = failures
        outcome.isOnCopies = true
    }

    /// Begins a nested evaluation whose result only the enclosing one sees.
    func begin(onCopiesOf collector: Collector) {
        if !outcome.isOnCopies { use(collector.state.copies!, after: collector.state.failures) }
        begin(after: .none, watch: nil)
    }

    /// Returns the result of a derived value for a function that runs on copies. The copies keep
    /// the result; it is not published.
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

    /// Notes what a result was made from, and returns its words.
    func note(_ result: CopiedResult) -> Latch.Words {
        for (root, version) in result.sources { add(root.versionAddress, version, .source(root)) }
        for (source, version) in result.others { note(source, version) }
        if result.isTorn { state.isTorn = true }
        if result.lowest < .max { enterRing(result.lowest) }
        return result.words
    }

    /// Returns the copy of a root, if the function runs on copies and there is one.
    func copy(of root: any DerivationRoot) -> SourceCopy? { state.copies?.copy(of: root) }

    /// Ends the use of copies. A thread of the library releases them, since destroying the values
    /// runs user code. (P5)
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
