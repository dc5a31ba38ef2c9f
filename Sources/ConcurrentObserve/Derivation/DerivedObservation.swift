// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What is called when a source of an observed derived value has changed.
internal class DerivationFollower: @unchecked Sendable {
    // Unchecked: subclasses say who has what.
    init() {}

    /// Brings the derived value up to date, and notifies its observers. Under no lock.
    ///
    /// - Parameter cause: The change that the calling thread announces, if that is why.
    func settle(becauseOf cause: AnnouncedChange?) { preconditionFailure("an observation settles") }
}

/// The link at a root of an observed derived value. It does not retain the derived value.
internal final class DerivationLink: LinkedPath, @unchecked Sendable {
    // Unchecked: `observer` belongs to the thread in the follower's drain loop.
    private let follower: DerivationFollower
    private let address: UInt
    private let source: SourceIdentity
    private(set) var observer: Observer?

    init(_ follower: DerivationFollower, at source: any DerivationRoot) {
        self.follower = follower
        address = source.versionAddress
        self.source = source.identity
        super.init()
        observer = source.register(self)
    }

    /// Marks alone: the function runs when all links of the property are marked, so that none is
    /// evaluated of what is about to be found stale. (P23)
    override func linkHasChanged(_ deferred: DeferredDeliveries) {
        #if INSTRUMENTED
        if mutant(.aMarkIsLost) { return }
        #endif
        // What several threads have changed, or a callback meanwhile, is not what this thread announces.
        let cause = AnnouncedChange.current(SourceSet.version(at: address), of: source)
        deferred.add(isLate: false) { [follower] in follower.settle(becauseOf: cause) }
    }
}

/// What there is of a derived value while it is observed: its links at the roots, and a property that has its results, which the
/// user's observers observe.
///
/// One thread at a time evaluates on behalf of changes and changes the links: a `DrainLoop`, as for paths. Readers commit, too, and leave the
/// notification to the thread whose change they have seen first. It does not retain the derived value. (P11)
internal final class DerivedObservation<Value: Sendable>: DerivationFollower, @unchecked Sendable {
    // Unchecked: `attached`, `starting`, `pending` are guarded by the derived value's lock; `links`, `linked` and `others` belong to the
    // thread in the drain loop; `property` goes with the derived value, or with the last that uses it.

    private weak var derived: Derived<Value>?
    /// What the user's observers observe: from 0, which is `base` for them. Gone with the derived value.
    private var held: Observed<Value>?
    var property: Observed<Value> { held! }
    private let base: UInt64
    var attached = 0
    /// How many observers are about to be attached.
    var starting = 0
    /// Changes that are published, and not announced yet.
    private var pending: [Change<Value>] = []

    private let loop = DrainLoop()
    private let isOver = Atomic<Bool>(false)
    private var links: [UInt: DerivationLink] = [:]
    private var linked: SourceSet?
    private var others: [ObservationToken] = []
    #if INSTRUMENTED
    /// A reference that should not be.
    var retained: AnyObject?
    #endif

    init(of derived: Derived<Value>, _ evaluation: Evaluation<Value>) {
        self.derived = derived
        held = Observed(evaluation.value)
        base = evaluation.version
        super.init()
        #if INSTRUMENTED
        if mutant(.aDerivedValueIsRetainedByItsSources) { retain(derived) }
        #endif
    }

    /// Attaches the user's observer.
    func attach(_ observer: PropertyObserver<Value>) -> ObservationToken {
        if base == 0 { return property.attach(observer) }
        let base = base
        return property.attach(
            observer.pulledBack { (change: Change<Value>) in
                Change(reason: change.reason, old: change.old, new: change.new, version: change.version + base)
            }
        )
    }

    /// Makes a result a change of the property, and puts it into the mailboxes. Under the derived value's lock.
    func publish(_ value: Value) -> ValueCell<Value>.Replaced {
        let words = property.cell.encode(value)
        property.mutation.acquire()
        let replaced = property.commit(words, value)
        property.mutation.release()
        pending.append(Change(reason: .valueChanged, old: replaced.value, new: value, version: replaced.version))
        return replaced
    }

    override func settle(becauseOf cause: AnnouncedChange?) {
        guard var derived else { return runLoop(nil) }
        runLoop(derived)
        announce(derived, becauseOf: cause)
        guard isKnownUniquelyReferenced(&derived) else { return }
        // The last reference is released elsewhere: the captures that go with it run user code. (P5)
        var objects: [AnyObject] = [derived]
        ThreadRecord.retire(DeferredAction(for: self, releasing: &objects))
    }

    /// Under the derived value's lock.
    func takePending() -> [Change<Value>] {
        let changes = pending
        pending = []
        #if INSTRUMENTED
        if mutant(.aPublishedResultIsNotAnnounced) { return onlyLast(changes) }
        #endif
        return changes
    }
}

// MARK: - Settling

extension DerivedObservation {
    private func runLoop(_ derived: Derived<Value>?) {
        inject("derived.enter")
        var rounds = 0
        while loop.enter() {
            round(derived)
            guard leaveLoop() else { return }
            rounds += 1
            // This thread does not serve the others for ever: it has changes of its own to deliver.
            if rounds == Self.mostRounds {
                return ThreadRecord.retire(DeferredAction(for: self) { [self] in settle(becauseOf: nil) })
            }
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
    private func round(_ derived: Derived<Value>?) {
        // Relaxed: the drain loop orders it.
        guard let derived, !isOver.load(ordering: .relaxed) else { return endLinks() }
        guard derived.lock.withLock({ starting > 0 }) || property.hasLiveObservers else { return }
        var record = derived.currentRecord()
        inject("derived.link")
        // What is newly linked may have changed before, and another thread may have published an evaluation that has seen it.
        while link(record.sources), looksAgain {
            let next = derived.currentRecord()
            if next === record { break }
            record = next
        }
    }

    private var looksAgain: Bool {
        #if INSTRUMENTED
        if mutant(.whatIsNewlyLinkedIsNotLookedAt) { return false }
        #endif
        return true
    }

    /// Has the links be those at the roots of an evaluation. Returns whether some are new. Inside the drain loop.
    private func link(_ sources: SourceSet) -> Bool {
        if sources === linked { return false }
        linked = sources
        var isNew = false
        var kept: [UInt: DerivationLink] = [:]
        for (index, address) in sources.addresses.enumerated() {
            if let link = links.removeValue(forKey: address) {
                kept[address] = link
            } else if let source = sources.roots[index].source {
                kept[address] = DerivationLink(self, at: source)
                isNew = true
            }
        }
        endUnused()
        links = kept
        return linkOthers(sources.others) || isNew
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

    /// Notifies the observers of what is published, whatever thread has evaluated it. Under no lock.
    private func announce(_ derived: Derived<Value>, becauseOf cause: AnnouncedChange?) {
        inject("derived.deliver")
        let changes = derived.lock.withLock { takePending() }
        for change in changes {
            guard let cause, changes.count == 1 else {
                property.announce(change)
                continue
            }
            // What several changes have brought is of none.
            cause.relayed(
                as: change.version + base,
                of: property.observers.identity,
                keepsValue: false,
                isCombined: true
            ).perform { property.announce(change) }
        }
    }
}

// MARK: - The end

extension DerivedObservation {
    /// The last observer's observation has ended.
    func detach() {
        #if INSTRUMENTED
        if mutant(.aDerivedValueStaysLinked) { return }
        #endif
        // Relaxed: the drain loop orders it.
        isOver.store(true, ordering: .relaxed)
        runLoop(nil)
    }

    /// The derived value is gone. (P12)
    func sourceIsGone() {
        held = nil
        detach()
    }
}

extension Observed {
    /// Whether observers are there that have not ended.
    fileprivate var hasLiveObservers: Bool { observers.existingCore?.hasLiveObservers ?? false }

    /// Notifies the observers of a change that is published already. Under no lock.
    fileprivate func announce(_ change: Change<Value>) {
        let hasMailboxes = observers.mayHaveMailboxes
        if hasMailboxes { observers.wakeMailboxes(of: Change<Value>.self) }
        observers.deliver(change)
        if hasMailboxes { observers.drainMailboxes(of: Change<Value>.self) }
    }
}
