// SPDX-License-Identifier: Apache-2.0

// A *root* is a property that stores its own value. A *link* is the observer at one root of a
// derived value. The comment at the top of `Derived.swift` explains this folder.

import ConcurrentObservePlatform
import Synchronization

/// The observer at one root of an observed derived value. It does not retain the derived value.
internal final class DerivationLink: LinkReceiver, @unchecked Sendable {
    // Unchecked: `observer` belongs to the thread in the follower's drain loop.
    let follower: LinkFollower
    private(set) var observer: Observer?

    init(_ follower: LinkFollower, at root: any DerivationRoot) {
        self.follower = follower
        super.init()
        observer = root.register(self)
    }

    /// Defers the evaluation. The function runs when all links of the property have been called, so
    /// that no function reads a value that another link is about to find stale. (P23)
    override func linkHasChanged(_ deferred: inout LinkDeliveries) {
        deferred.add(.evaluation(follower))
    }

    override func sourceIsGone() { follower.rootIsGone() }
}

/// The parts of a derived value that exist while it is observed: links at the roots, and a property
/// that has the results. The user's observers observe that property.
///
/// One thread at a time evaluates on behalf of changes and updates the links, in a `DrainLoop`, as
/// for paths. Readers publish results, too, and never announce them: see the comment at the top of
/// `Derived.swift`. This object retains the derived value's keeper, and none of the sources that
/// the derived value names. (P11) When the program releases the derived value, the keeper retains
/// its *successor*. The successor refers to these sources weakly, and retains them (`hold`) only
/// while it evaluates: see `DerivationKeeper`.
@safe internal final class DerivedObservation: LinkFollower, @unchecked Sendable {
    // Unchecked: `lock` guards `attached`, `links`, `others`, and the variables for cascades.
    // `linked` belongs to the thread in the drain loop. `retainedResults` is released with the
    // derived value, or in `deinit`.

    let keeper: DerivationKeeper
    /// The results, which the user's observers observe. This object retains them until the derived
    /// value is gone; nil afterwards.
    private var retainedResults: Unmanaged<AnyDerivedResults>?
    let lock = SourceLock()
    /// The number of observers that are attached or about to be attached, and have not ended.
    var attached = 0

    private let loop = DrainLoop()
    /// The newest cascade that has caused an evaluation, and the number of evaluations that a
    /// ring's functions have caused in it: see `settleElsewhere`.
    private var cascade = (number: UInt64(0), evaluations: 0)
    /// Whether a thread of the library is going to evaluate.
    private var isQueued = false
    /// The members of the ring, if the result was computed with a ring's error; otherwise empty.
    private var ringMembers: Set<UInt> = []
    /// Whether the last observer has ended. Only a thread that holds `lock` stores it.
    let isOver = Atomic<Bool>(false)
    var links: [UInt: DerivationLink] = [:]
    /// The set to whose roots the links belong; nil before the first round.
    private var linked: DependencySet?
    var others: [ObservationToken] = []

    init(_ keeper: DerivationKeeper, _ results: AnyDerivedResults) {
        self.keeper = keeper
        unsafe retainedResults = .passRetained(results)
        super.init()
    }

    /// Publishes a result as a change of the property that has the results. The caller must hold
    /// the derived value's lock.
    ///
    /// - Returns: The replaced words. Nil if the last observer has ended: then no thread announces
    ///   a change any more.
    func publish(_ words: Latch.Words) -> Latch.Words? {
        // Relaxed: an observer that is ending may receive the change or not.
        isOver.load(ordering: .relaxed) ? nil : withResults { $0.publish(words) }
    }

    deinit {
        if Fork.isInChild { return }
        releaseResults()
        guard let successor = keeper.presentSuccessor else { return }
        // This thread may be changing a source. Therefore another thread releases the captures of
        // the successor's function. (P5)
        var objects: [AnyObject] = [keeper, successor]
        ThreadRecord.retire(DeferredAction(for: keeper, releasing: &objects))
    }

    /// The results. The caller must retain the derived value.
    var results: AnyDerivedResults { withResults { $0 } }

    /// Calls `body` with the results, and counts no reference. The caller must retain the derived
    /// value.
    @inline(__always)
    private func withResults<Result>(_ body: (AnyDerivedResults) -> Result) -> Result {
        // Safe: the results live as long as the derived value.
        unsafe retainedResults.unsafelyUnwrapped._withUnsafeGuaranteedRef { body($0) }
    }

    func releaseResults() {
        let results = unsafe retainedResults
        unsafe retainedResults = nil
        unsafe results?.release()
    }

    override func settle(becauseOf cause: DeliveryScope?) {
        // A function has changed a root, perhaps by releasing the last reference to an object. An
        // evaluation on this thread may need a derived value that the thread is evaluating, which
        // would then seem to need itself.
        if EvaluationStack.current.isEvaluating { return settleElsewhere() }
        evaluate(becauseOf: cause)
    }

    /// Evaluates the derived value if a root has changed, and announces all results that are not
    /// announced yet.
    private func evaluate(becauseOf cause: DeliveryScope?) {
        guard let node = keeper.node else { return end() }
        let isSettled: Void? = node.withSources(for: self) {
            runLoop(node)
            withResults { results in results.announce(node, cause) }
        }
        if isSettled == nil { endSuccessor(node) } else { release(node) }
    }

    /// Called when a root has died, on the thread that has released the root. The observation ends
    /// if a successor names the root, or if a source that the successor names can be reached only
    /// through the root. (P12)
    override func rootIsGone() {
        guard let successor = keeper.presentSuccessor else { return }
        if successor.withSources(for: self, {}) == nil { endSuccessor(successor) } else { release(successor) }
    }
}

// MARK: - Settling

extension DerivedObservation {
    /// Attaches links to the roots that the function reads, for an observer that is about to be
    /// attached.
    ///
    /// Also announces the results that other threads have published by then. A thread of the
    /// library announces them if the caller is inside a body, where a callback that makes a change
    /// would trap, or inside the function of a derived value, where the callback would be part of
    /// an evaluation. (P5)
    func begin(_ node: DerivationNode) {
        runLoop(node)
        if ThreadRecord.isInsideBody || EvaluationStack.current.isEvaluating { return settleElsewhere() }
        results.announce(node, nil)
    }

    @inline(never)
    private func runLoop(_ derived: DerivationNode) {
        var rounds = 0
        while loop.enter() {
            round(derived)
            guard loop.leave() else { return }
            rounds += 1
            // This thread does not serve the others forever: it has changes of its own to deliver.
            if rounds == Self.mostRounds { return settleElsewhere() }
        }
    }

    /// Arranges for a thread of the library to evaluate.
    ///
    /// A *cascade* is all changes that functions make in one evaluation, and in the evaluations
    /// that these changes cause. The functions of a ring cause at most `mostEvaluations` of each
    /// member in one cascade. Otherwise a member that changes what the ring reads would cause
    /// evaluations without end. `SelfWatch` finds a function that changes what it reads, and is in
    /// no ring. (P25)
    @inline(never)
    private func settleElsewhere() {
        let stack = EvaluationStack.current
        let number = stack.cascade()
        let mustQueue = lock.withLock {
            if isQueued { return false }
            // A newer cascade has caused no evaluation yet.
            if number > cascade.number { cascade = (number, 0) }
            if ringMembers.contains(where: stack.isInside) {
                if cascade.evaluations == Self.mostEvaluations { return false }
                cascade.evaluations += 1
            }
            isQueued = true
            return true
        }
        guard mustQueue else { return }
        ThreadRecord.retire(
            DeferredAction(for: self) { [self] in
                let number = lock.withLock {
                    isQueued = false
                    return cascade.number
                }
                EvaluationStack.current.perform(in: number) { evaluate(becauseOf: nil) }
            }
        )
    }

    private static var mostEvaluations: Int { 4 }
    private static var mostRounds: Int { 8 }

    /// Evaluates the derived value, and attaches links to the roots that its function has read. The
    /// caller must be in the drain loop.
    private func round(_ derived: DerivationNode) {
        // Relaxed: `install` looks again, under the lock.
        guard !isOver.load(ordering: .relaxed) else { return }
        var present = derived.refresh()
        // A root may have changed before it was linked. Another thread may have published an
        // evaluation that has seen the change.
        while link(present, of: derived) {
            let next = derived.refresh()
            if next.isSame(present) { break }
            present = next
        }
    }

    /// Updates the links to match the roots of an evaluation. Returns true if any link is new, and
    /// the last observer has not ended. The caller must be in the drain loop.
    private func link(_ present: borrowing Present, of derived: DerivationNode) -> Bool {
        if let linked, linked.words == present.set { return false }
        let (set, words) = (present.set.object, present.set)
        linked = set
        var isNew = false
        var (before, present) = (lock.withLock { links }, [UInt: DerivationLink]())
        let roots = words.count == 0 ? [] : derived.roots(of: set)
        for index in 0..<words.count {
            let address = words.address(index)
            if let link = before.removeValue(forKey: address) {
                present[address] = link
            } else if let root = roots[index].root {
                present[address] = DerivationLink(self, at: root)
                isNew = true
            }
        }
        let others = (set.details?.others ?? []).compactMap { $0.attach(self) }
        let isInstalled = install(present, others, unused: before, ringMembers: set.details?.ringMembers ?? [])
        return isInstalled && (isNew || !others.isEmpty)
    }

    /// Replaces the links by `present` and `others`, and ends the links in `unused`. If the last
    /// observer has ended, ends the new links instead, and returns false: the earlier links have
    /// ended with that observer.
    private func install(
        _ present: [UInt: DerivationLink],
        _ others: [ObservationToken],
        unused: [UInt: DerivationLink],
        ringMembers: Set<UInt>
    ) -> Bool {
        var (links, tokens) = (present, others)
        let isOver = lock.withLock {
            // Relaxed: stored under the lock.
            if self.isOver.load(ordering: .relaxed) { return true }
            (links, tokens) = (unused, self.others)
            (self.links, self.others, self.ringMembers) = (present, others, ringMembers)
            return false
        }
        withExtendedLifetime(tokens) {}
        Self.end(links)
        return !isOver
    }

    static func end(_ links: [UInt: DerivationLink]) { for link in links.values { link.observer?.end(.cancelled) } }
}
