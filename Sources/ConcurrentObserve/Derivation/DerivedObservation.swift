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
        #if INSTRUMENTED
        if mutant(.aMarkIsLost) { return }
        #endif
        // What several threads have changed, or a callback meanwhile, is not what this thread announces.
        deferred.add(follower, becauseOf: AnnouncedChange.current(SourceSet.version(at: address), of: source))
    }
}

/// What there is of a derived value while it is observed: its links at the roots, and a property that has its results, which the
/// user's observers observe.
///
/// One thread at a time evaluates on behalf of changes and changes the links: a `DrainLoop`, as for paths. Readers
/// commit, too, and leave the notification to the thread whose change they have seen first. It does not retain the
/// derived value. (P11)
@safe internal final class DerivedObservation: LinkFollower, @unchecked Sendable {
    // Unchecked: `attached` is guarded by the derived value's lock; `links`, `linked` and `others` belong to the thread
    // in the drain loop; `results` goes with the derived value, or with the last that uses it.

    private weak var derived: (any DerivationNode)?
    /// What the user's observers observe. Retained until the derived value is gone.
    private var retainedResults: Unmanaged<AnyDerivedResults>?
    var attached = 0
    /// How many observers are about to be attached.
    let starting = Atomic<Int>(0)

    private let loop = DrainLoop()
    private let isOver = Atomic<Bool>(false)
    private var links: [UInt: DerivationLink] = [:]
    private var linked: SourceSet?
    private var others: [ObservationToken] = []
    #if INSTRUMENTED
    /// A reference that should not be.
    var retained: AnyObject?
    #endif

    init(of derived: any DerivationNode, _ results: AnyDerivedResults) {
        self.derived = derived
        unsafe retainedResults = .passRetained(results)
        super.init()
        #if INSTRUMENTED
        if mutant(.aDerivedValueIsRetainedByItsSources) { retain(derived) }
        #endif
    }

    /// Makes a result a change of the property that has the results. Under the derived value's lock.
    ///
    /// - Returns: The words that it has replaced.
    func publish(_ words: Latch.Words) -> Latch.Words { withResults { $0.publish(words) } }

    deinit { releaseResults() }

    /// What the user's observers observe. For who has the derived value.
    var results: AnyDerivedResults { withResults { $0 } }

    /// Calls `body` with that, and counts no reference. For who has the derived value.
    @inline(__always)
    private func withResults<Result>(_ body: (AnyDerivedResults) -> Result) -> Result {
        // Safe: as long as the derived value is there, its results are.
        unsafe retainedResults.unsafelyUnwrapped._withUnsafeGuaranteedRef { body($0) }
    }

    private func releaseResults() {
        let results = unsafe retainedResults
        unsafe retainedResults = nil
        unsafe results?.release()
    }

    override func settle(becauseOf cause: AnnouncedChange?) {
        guard let node = derived else { return end() }
        // A function has changed a source, perhaps by the last release of an object. What is evaluated now may need what the outer
        // evaluation has: it would seem to need itself.
        if EvaluationStack.current.isEvaluating { return settleElsewhere() }
        withResults { results in
            runLoop(node, results)
            results.announce(node, cause)
        }
        var last: AnyObject? = consume node
        guard isKnownUniquelyReferenced(&last) else { return }
        // The last reference is released elsewhere: the captures that go with it run user code. (P5)
        var objects = [last!]
        last = nil
        ThreadRecord.retire(DeferredAction(for: self, releasing: &objects))
    }
}

// MARK: - Settling

extension DerivedObservation {
    /// Links what is read, for an observer that is about to be attached.
    ///
    /// What other threads have published by then is announced, too. Inside a body a callback that makes a change would trap, and inside
    /// the function of a derived value it would be part of an evaluation: there a thread of the library announces it. (P5)
    func begin() {
        guard let node = derived else { return end() }
        withResults { results in runLoop(node, results) }
        if ThreadRecord.isInsideBody || EvaluationStack.current.isEvaluating { return settleElsewhere() }
        results.announce(node, nil)
    }

    @inline(never)
    private func runLoop(_ derived: any DerivationNode, _ results: AnyDerivedResults) {
        inject("derived.enter")
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

    /// There is nothing to evaluate any more: ends the links.
    @inline(never)
    private func end() {
        // Relaxed: the drain loop orders it.
        isOver.store(true, ordering: .relaxed)
        while loop.enter() {
            endLinks()
            guard loop.leave() else { return }
        }
    }

    private static var mostRounds: Int { 8 }

    /// Leaves the drain loop; true if another thread has come meanwhile.
    private func leaveLoop() -> Bool {
        let isNoted = loop.leave()
        #if INSTRUMENTED
        if mutant(.aChangeDuringAnEvaluationIsForgotten) { return false }
        #endif
        return isNoted
    }

    /// Evaluates, and links what was read. Inside the drain loop.
    private func round(_ derived: any DerivationNode, _ results: AnyDerivedResults) {
        // Relaxed: the drain loop orders it.
        guard !isOver.load(ordering: .relaxed) else { return endLinks() }
        // Acquire: pairs with the release in Derived.attach(_:_:); the observer that is not starting any more is live.
        guard starting.load(ordering: .acquiring) > 0 || results.core.hasLiveObservers else { return }
        var present = derived.refresh()
        inject("derived.link")
        // What is newly linked may have changed before, and another thread may have published an evaluation that has seen it.
        while link(present, of: derived), looksAgain {
            let next = derived.refresh()
            if next.isSame(present) { break }
            present = next
        }
    }

    private var looksAgain: Bool {
        #if INSTRUMENTED
        if mutant(.whatIsNewlyLinkedIsNotLookedAt) { return false }
        #endif
        return true
    }

    /// Has the links be those at the roots of an evaluation. Returns whether some are new. Inside the drain loop.
    private func link(_ present: borrowing Present, of derived: any DerivationNode) -> Bool {
        if let linked, linked.words == present.set { return false }
        let (sources, words) = (present.set.object, present.set)
        linked = sources
        var isNew = false
        var kept: [UInt: DerivationLink] = [:]
        let roots = words.count == 0 ? [] : derived.roots(of: sources)
        for index in 0..<words.count {
            let address = words.address(index)
            if let link = links.removeValue(forKey: address) {
                kept[address] = link
            } else if let source = roots[index].source {
                kept[address] = DerivationLink(self, at: source)
                isNew = true
            }
        }
        endUnused()
        links = kept
        return linkOthers(sources.details?.others ?? []) || isNew
    }

    /// Ends the links that are left: at what is not read any more.
    private func endUnused() {
        #if INSTRUMENTED
        if mutant(.aLinkToAnUnusedSourceStays) { return }
        #endif
        for link in links.values { link.observer?.end(.cancelled) }
    }

    private func linkOthers(_ sources: [OtherSource]) -> Bool {
        if sources.isEmpty && others.isEmpty { return false }
        let tokens = sources.map { $0.attach(self) }
        others = tokens
        return !tokens.isEmpty
    }

    private func endLinks() {
        for link in links.values { link.observer?.end(.cancelled) }
        (links, linked, others) = ([:], nil, [])
    }
}

// MARK: - The end

extension DerivedObservation {
    /// The last observer's observation has ended.
    func detach() {
        #if INSTRUMENTED
        if mutant(.aDerivedValueStaysLinked) { return }
        #endif
        end()
    }

    /// The derived value is gone. (P12)
    func sourceIsGone() {
        releaseResults()
        detach()
    }
}
