// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The link at a root of an observed derived value. It does not retain the derived value.
internal final class DerivationLink: LinkedPath, @unchecked Sendable {
    // Unchecked: `observer` belongs to the thread in the follower's drain loop.
    private let follower: LinkFollower
    private let address: UInt
    private let source: SourceIdentity
    private(set) var observer: Observer?

    init(_ follower: LinkFollower, at source: any DerivationRoot) {
        self.follower = follower
        address = source.versionAddress
        self.source = source.identity
        super.init()
        observer = source.register(self)
    }

    /// Marks alone: the function runs when all links of the property are marked, so that none is
    /// evaluated of what is about to be found stale. (P23)
    override func linkHasChanged(_ deferred: inout LinkDeliveries) {
        // What several threads have changed, or a callback meanwhile, is not what this thread announces.
        deferred.add(follower, becauseOf: AnnouncedChange.current(SourceSet.version(at: address), of: source))
    }

    override func sourceIsGone() { follower.rootIsGone() }
}

/// What there is of a derived value while it is observed: its links at the roots, and a property that has its results, which the
/// user's observers observe.
///
/// One thread at a time evaluates on behalf of changes and changes the links: a `DrainLoop`, as for paths. Readers
/// commit, too, and leave the notification to the thread whose change they have seen first. It retains the derived value's
/// keeper, and so no source that the derived value names. (P11)
@safe internal final class DerivedObservation: LinkFollower, @unchecked Sendable {
    // Unchecked: `attached`, `links` and `others` are guarded by `lock`; `linked` belongs to the thread in the drain loop;
    // `results` goes with the derived value, or with the last that uses it.

    let keeper: DerivationKeeper
    /// What the user's observers observe. Retained until the derived value is gone.
    private var retainedResults: Unmanaged<AnyDerivedResults>?
    let lock = SourceLock()
    var attached = 0
    /// How many observers are about to be attached.
    let starting = Atomic<Int>(0)

    private let loop = DrainLoop()
    /// Whether the last observer has ended. Stored under `lock`.
    let isOver = Atomic<Bool>(false)
    var links: [UInt: DerivationLink] = [:]
    private var linked: SourceSet?
    var others: [ObservationToken] = []

    init(of derived: any DerivationNode, _ keeper: DerivationKeeper, _ results: AnyDerivedResults) {
        self.keeper = keeper
        unsafe retainedResults = .passRetained(results)
        super.init()
    }

    /// Makes a result a change of the property that has the results. Under the derived value's lock.
    ///
    /// - Returns: The words that it has replaced; nil if the last observer has ended: then no thread announces it any more.
    func publish(_ words: Latch.Words) -> Latch.Words? {
        // Relaxed: an observer that ends meanwhile receives it or does not.
        isOver.load(ordering: .relaxed) ? nil : withResults { $0.publish(words) }
    }

    deinit {
        releaseResults()
        guard let successor = keeper.presentSuccessor else { return }
        // The thread may be one that changes a source: what the successor's function captures is released elsewhere. (P5)
        var objects: [AnyObject] = [keeper, successor]
        ThreadRecord.retire(DeferredAction(for: keeper, releasing: &objects))
    }

    /// What the user's observers observe. For who has the derived value.
    var results: AnyDerivedResults { withResults { $0 } }

    /// Calls `body` with that, and counts no reference. For who has the derived value.
    @inline(__always)
    private func withResults<Result>(_ body: (AnyDerivedResults) -> Result) -> Result {
        // Safe: as long as the derived value is there, its results are.
        unsafe retainedResults.unsafelyUnwrapped._withUnsafeGuaranteedRef { body($0) }
    }

    func releaseResults() {
        let results = unsafe retainedResults
        unsafe retainedResults = nil
        unsafe results?.release()
    }

    override func settle(becauseOf cause: AnnouncedChange?) {
        guard let node = keeper.node else { return end() }
        // A function has changed a source, perhaps by the last release of an object. What is evaluated now may need what the outer
        // evaluation has: it would seem to need itself.
        if EvaluationStack.current.isEvaluating { return settleElsewhere() }
        var held = HeldSources()
        guard node.hold(&held) else {
            endSuccessor(node)
            return held.release(for: self)
        }
        withResults { results in
            runLoop(node, results)
            results.announce(node, cause)
        }
        held.release(for: self)
        release(node)
    }

    /// A root has died. If a successor names it, or needs it to reach what it names, the observation ends with it. On the thread that has
    /// dropped the root. (P12)
    override func rootIsGone() {
        guard let successor = keeper.presentSuccessor else { return }
        var held = HeldSources()
        if successor.hold(&held) { release(successor) } else { endSuccessor(successor) }
        held.release(for: self)
    }
}

// MARK: - Settling

extension DerivedObservation {
    /// Links what is read, for an observer that is about to be attached.
    ///
    /// What other threads have published by then is announced, too. Inside a body a callback that makes a change would trap, and inside
    /// the function of a derived value it would be part of an evaluation: there a thread of the library announces it. (P5)
    func begin(_ node: any DerivationNode) {
        withResults { results in runLoop(node, results) }
        if ThreadRecord.isInsideBody || EvaluationStack.current.isEvaluating { return settleElsewhere() }
        results.announce(node, nil)
    }

    @inline(never)
    private func runLoop(_ derived: any DerivationNode, _ results: AnyDerivedResults) {
        var rounds = 0
        while loop.enter() {
            round(derived, results)
            guard leaveLoop() else { return }
            rounds += 1
            // This thread does not serve the others for ever: it has changes of its own to deliver.
            if rounds == Self.mostRounds { return settleElsewhere() }
        }
    }

    @inline(never)
    private func settleElsewhere() {
        ThreadRecord.retire(DeferredAction(for: self) { [self] in settle(becauseOf: nil) })
    }

    private static var mostRounds: Int { 8 }

    /// Leaves the drain loop; true if another thread has come meanwhile.
    private func leaveLoop() -> Bool {
        let isNoted = loop.leave()
        return isNoted
    }

    /// Evaluates, and links what was read. Inside the drain loop.
    private func round(_ derived: any DerivationNode, _ results: AnyDerivedResults) {
        // Relaxed: link(_:of:) looks again, under the lock.
        guard !isOver.load(ordering: .relaxed) else { return }
        // Acquire: pairs with the release in Derived.attach(_:_:); the observer that is not starting any more is live.
        guard starting.load(ordering: .acquiring) > 0 || results.core.hasLiveObservers else { return }
        var present = derived.refresh()
        // What is newly linked may have changed before, and another thread may have published an evaluation that has seen it.
        while link(present, of: derived), looksAgain {
            let next = derived.refresh()
            if next.isSame(present) { break }
            present = next
        }
    }

    private var looksAgain: Bool {
        return true
    }

    /// Has the links be those at the roots of an evaluation. Returns whether some are new. Inside the drain loop.
    private func link(_ present: borrowing Present, of derived: any DerivationNode) -> Bool {
        if let linked, linked.words == present.set { return false }
        let (sources, words) = (present.set.object, present.set)
        linked = sources
        var isNew = false
        var (before, present) = (lock.withLock { links }, [UInt: DerivationLink]())
        let roots = words.count == 0 ? [] : derived.roots(of: sources)
        for index in 0..<words.count {
            let address = words.address(index)
            if let link = before.removeValue(forKey: address) {
                present[address] = link
            } else if let source = roots[index].source {
                present[address] = DerivationLink(self, at: source)
                isNew = true
            }
        }
        let others = (sources.details?.others ?? []).compactMap { $0.attach(self) }
        install(present, others, unused: before)
        return isNew || !others.isEmpty
    }

    /// Replaces what is linked, or ends the new links if the last observer has ended meanwhile: that ended the earlier ones.
    private func install(
        _ present: [UInt: DerivationLink],
        _ others: [ObservationToken],
        unused: [UInt: DerivationLink]
    ) {
        var (links, tokens) = (present, others)
        let isInstalled = lock.withLock {
            // Relaxed: stored under the lock.
            guard !isOver.load(ordering: .relaxed) else { return false }
            (links, tokens) = (unused, self.others)
            (self.links, self.others) = (present, others)
            return true
        }
        withExtendedLifetime(tokens) {}
        if isInstalled { endUnused(links) } else { Self.end(links) }
    }

    /// Ends links at what is not read any more.
    private func endUnused(_ links: [UInt: DerivationLink]) {
        Self.end(links)
    }

    static func end(_ links: [UInt: DerivationLink]) { for link in links.values { link.observer?.end(.cancelled) } }
}
