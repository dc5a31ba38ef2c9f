// SPDX-License-Identifier: Apache-2.0

// A *root* is a property that stores its own value. A *ring* consists of derived values that need
// each other, or of one that needs itself. The *drafts* of a commit are the values that its body
// has set, and that are not published yet. The comment at the top of `Derived.swift` explains this
// folder.

/// A copy of a root: a property that has the value that the root had at `version`.
internal struct DependencyCopy {
    let property: any PathProperty
    let version: UInt64
    /// The referent of a weak property; nil for other properties. This struct retains it, so that
    /// the function finds it, however late the function reads the copy.
    private let referent: AnyObject?

    init<Value: Sendable>(_ value: Value, _ version: UInt64) {
        property = Observed(value)
        self.version = version
        referent = (value as? any RefersWeakly)?.present
    }
}

/// Copies of roots, and results that were computed from these copies. The copied values were
/// present together. If sources change faster than a function runs, the function reads the copies
/// instead. (P23, P24)
///
/// The copies belong to one evaluation and to the evaluations inside it. All copies are taken at
/// once. If the function reads a root that has no copy, it reads the present value. If a source has
/// changed since the copies were taken, the function runs again on new copies, which include that
/// root. (P25)
@safe internal final class DependencyCopies {
    /// Copies that were taken together, and the results that were computed from them.
    private final class Snapshot {
        var copies: [UInt: DependencyCopy] = [:]
        var results: [UInt: CopiedResult] = [:]
        /// Whether one of the results is the error of a ring.
        var hasHead = false
    }

    /// All roots that `take(_:)` has received so far, by the addresses of their versions.
    private var roots: [UInt: any DerivationRoot] = [:]
    private var snapshot = Snapshot()
    /// The number of the snapshot. An evaluation that began on an earlier one must run again.
    private(set) var number = 0
    /// The drafts that stand for the members of a commit, if the commit's body reads the derived
    /// value. Each member has the value that the body has set, or else the present one, which no
    /// other thread changes. (P19)
    private let drafts: UnsafeMutableBufferPointer<Draft>?

    /// Makes an object without copies.
    @safe init(_ drafts: UnsafeMutableBufferPointer<Draft>? = nil) { unsafe self.drafts = drafts }

    /// Whether the function reads the drafts of a commit.
    var areOfDrafts: Bool { unsafe drafts != nil }

    /// Copies the roots of `origins`, and all roots that were copied before. The publication of
    /// their changes is held off during the copying. The caller must hold no lock. It waits like a
    /// snapshot of a group: see `Snapshots`. (P20)
    ///
    /// - Returns: The replaced snapshot, which the caller must release on a thread of the library.
    func take(_ origins: [Origin]) -> AnyObject {
        for origin in origins {
            guard let root = origin.root?.root, draftIndex(root.address) == nil else { continue }
            roots[root.address] = root
        }
        let (roots, replaced) = (roots, snapshot)
        snapshot = Snapshot()
        number += 1
        if roots.isEmpty { return replaced }
        let members = GroupMembers { found in for root in roots.values { found.add(root) } }
        snapshot.copies = Snapshots.takeHeld(members) { roots.mapValues { $0.copy() } }
        withExtendedLifetime(members) {}
        return replaced
    }

    private func draftIndex(_ address: UInt) -> Int? {
        // Safe: the commit keeps the drafts until its body has returned, and this runs in the body.
        unsafe drafts.flatMap { unsafe Draft.index(of: address, in: $0) }
    }

    /// Returns the copy of a root, or of a member's draft. Returns nil if the function must read
    /// the root itself.
    func copy(of root: any DerivationRoot) -> DependencyCopy? {
        let address = root.address
        if let copy = snapshot.copies[address] { return copy }
        guard let index = draftIndex(address) else { return nil }
        // Safe: as above.
        let copy = unsafe root.copy(of: drafts![index])
        snapshot.copies[address] = copy
        return copy
    }

    /// Returns whether every value in `collected` was read from a copy, at the version that
    /// `versions` has for it.
    func cover(_ collected: Collected, _ versions: VersionList) -> Bool {
        for (index, address) in collected.addresses.enumerated()
        where snapshot.copies[address]?.version != versions[index] {
            return false
        }
        // There are no copies of other sources.
        return collected.others.isEmpty
    }

    /// Returns the result of the derived value at `address` that was computed from the copies; nil
    /// if there is none.
    func result(of address: UInt) -> CopiedResult? {
        snapshot.results[address]
    }

    /// The addresses of the derived values that were evaluated on the copies, if one of them is the
    /// head of a ring; otherwise empty.
    var ringMembers: Set<UInt> { snapshot.hasHead ? Set(snapshot.results.keys) : [] }

    func keep(_ result: CopiedResult) {
        snapshot.results[result.derived.address] = result
        if result.cycle != nil { snapshot.hasHead = true }
    }
}

/// An unpublished result of a derived value whose function read copies of its sources, and the
/// versions from which it was computed.
///
/// `DependencyCopies` keeps the result even if the function read values that were not present
/// together. Then the evaluation that reads the result fails, but it does not run this function
/// again.
internal final class CopiedResult {
    let derived: DerivationNode
    let words: Latch.Words
    private let isInline: Bool
    let reads: Collected
    let versions: VersionList
    let isTorn: Bool
    /// The error, if the derived value is the head of a ring; else nil.
    let cycle: DerivedCycle?

    /// Takes over the result of an evaluation, and the reads that it has collected.
    init(_ derived: DerivationNode, _ collector: Collector, _ cycle: DerivedCycle? = nil) {
        precondition(!collector.outcome.isSame, "ConcurrentObserve: an unpublished result is the published one.")
        (self.derived, words, self.cycle) = (derived, collector.outcome.result, cycle)
        isInline = collector.outcome.isInline
        collector.leaveSet()
        (reads, versions, isTorn) = (collector.state.collected, collector.state.versions, collector.state.isTorn)
    }

    deinit { if !isInline { derived.discard(words) } }
}

// MARK: - Evaluating on copies

extension Collector {
    /// Counts a run or a read during which a source has changed. After `mostFailures` of these, the
    /// function runs on copies.
    @usableFromInline
    func noteFailure() {
        state.failures += 1
        guard isOnCopies || state.failures >= Self.mostFailures else { return }
        use(state.copies ?? DependencyCopies(), of: [self])
    }

    /// The number of failures after which the function runs on copies. It is larger than the number
    /// that `SelfWatch` needs to find a function that sets a property that it has read.
    private static var mostFailures: Int {
        return 12
    }

    /// Makes the function run on copies of the roots that the evaluations `way` have read, and of
    /// all roots that were copied before. The functions of derived values that it reads run on the
    /// same copies.
    func use(_ copies: DependencyCopies, of way: [Collector]) {
        for collector in way { collector.leaveSet() }
        state.copies = copies
        release(copies.take(way.flatMap(\.state.collected.origins)))
    }

    /// Makes the next evaluation with this collector read copies of the roots that `others` have
    /// read. The current runs of `others` will be discarded.
    func copyWhat(_ others: [Collector]) {
        state.failures = Self.mostFailures
        use(DependencyCopies(), of: others)
    }

    /// Begins an evaluation that reads `copies`.
    func begin(on copies: DependencyCopies) {
        state.copies = copies
        begin(after: .none)
    }

    /// Makes the evaluations `way` go on with copies of all roots that they have read. The results
    /// of their present runs will be discarded.
    static func moveToCopies(_ way: [Collector]) {
        let copies = DependencyCopies()
        way[0].use(copies, of: way)
        for collector in way { (collector.state.copies, collector.state.copiesNumber) = (copies, -1) }
    }

    /// Returns the result of a derived value for a function that runs on copies. The copies keep
    /// the result.
    func resultOnCopies(_ derived: DerivationNode) -> CopiedResult {
        let copies = state.copies!
        if let kept = copies.result(of: derived.address) { return kept }
        let present = EvaluationStack.current.perform(derived, isOnCopies: true, hasReader: true) { inner in
            inner.begin(on: copies)
            ThreadRecord.withUserCode { derived.run(inner) }
            let result = CopiedResult(derived, inner)
            // If the derived value was evaluated inside itself, or is the head of a ring, the
            // copies already have its result.
            if let known = copies.result(of: derived.address) { return Present(unpublished: known) }
            // On an earlier snapshot, the functions that read the result must run again, too.
            if inner.isOnLatestCopies { copies.keep(result) }
            return Present(unpublished: result)
        }
        return present.unpublished!
    }

    /// Notes the sources of `result`, which the function has read.
    func note(_ result: CopiedResult) { note(result.reads, result.versions, isTorn: result.isTorn) }

    /// Notes all that another evaluation has read.
    func note(_ reads: Collected, _ versions: VersionList, isTorn: Bool) {
        leaveSet()
        for (index, address) in reads.addresses.enumerated() {
            add(address, versions[index], reads.origins[index].unretained)
        }
        for (other, version) in zip(reads.others, reads.otherVersions) { note(other, version) }
        if isTorn { state.isTorn = true }
    }

    /// Whether the copies are the ones with which the present run began. False if they were taken
    /// later, or if the function does not read copies.
    var isOnLatestCopies: Bool {
        return state.copies?.number == state.copiesNumber
    }

    /// Whether the function reads copies of its sources.
    var isOnCopies: Bool { state.copies != nil }

    /// Returns the copy of a root; nil if there is none, or the function does not run on copies.
    func copy(of root: any DerivationRoot) -> DependencyCopy? { state.copies?.copy(of: root) }

    /// Ends the use of copies.
    func endCopies() {
        guard isOnCopies else { return }
        guard isKnownUniquelyReferenced(&state.copies) else { return state.copies = nil }
        release(state.copies.take())
    }

    /// Releases a reference on a thread of the library, because the release may run user code. (P5)
    @inline(never)
    func release(_ object: consuming AnyObject?) {
        guard let object else { return }
        var objects = [object]
        ThreadRecord.retire(DeferredAction(for: self, releasing: &objects))
    }
}

// MARK: - Reading the drafts of a commit

extension Derived {
    /// Returns the value that the function computes from the drafts of a commit and from the
    /// present values of other properties. The value is not published. It is called in the body, on
    /// the body's thread. (P19, P22)
    internal func value(of drafts: DependencyCopies) -> Value {
        var value: Value?
        _ = EvaluationStack.current.perform(self) { collector in
            collector.begin(on: drafts)
            while true {
                collector.evaluate(self)
                let words = collector.outcome.result
                if collector.outcome.isSnapshot || collector.isConsistent { value = ValueEncoding<Value>.copy(words) }
                if !collector.outcome.isInline { discard(words) }
                if value != nil { return .none }
                collector.pauseAndRestart()
            }
        }
        return value!
    }
}

extension Transaction {
    /// The value that a derived value has for the drafts. Its function reads the drafts of members.
    /// The values that it reads of other properties were present together. (P19, P22)
    ///
    /// ```swift
    /// let total = Derived(from.balance, to.balance) { $0 + $1 }
    /// try Group(from.balance, to.balance).commit { transaction in
    ///     transaction[from.balance] -= amount
    ///     guard transaction[total] >= 0 else { throw Overdrawn() }
    /// }
    /// ```
    ///
    /// The function runs at each read, inside the body, under the locks of the members: it should
    /// be short. Derived values that it reads with its reader are evaluated for the drafts, too.
    /// `property.value` and properties of your own types give it their present values. Nothing is
    /// kept: the derived value's own `value` does not change until the commit is published.
    ///
    /// - Complexity: O(*n*) plus the work of the function, where *n* is the number of properties
    ///   that it reads.
    public subscript<Value: Sendable>(_ derived: Derived<Value>) -> Value {
        // Safe: the commit keeps the drafts until its body has returned.
        unsafe derived.value(of: DependencyCopies(drafts))
    }
}
