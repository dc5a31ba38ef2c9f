// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One observation of a path: observers of the library's own on every property of the path, and a list with the user's, which is
/// told what they hear.
///
/// Changes of the last property go straight through (see `PathLeaf`). When another property changes, the path below it is wired
/// anew by one thread at a time, and nobody waits for it: the `Turn`. Nothing is held while the user's observer is called.
@usableFromInline
internal final class PathObservation<Value: Sendable>: @unchecked Sendable {
    // Unchecked: `links`, `rootProperty`, `leaf`, `version` and `hasEnded` belong to whoever has the turn.

    /// The list of the user's observer.
    @usableFromInline let observers = ObserverList()

    /// The user's observer. Written once, before the path is wired.
    private var user: Observer?

    private let turn = Turn(isTaken: true)
    private var links: [Link]
    private let last: PathStep<Value>
    private let absent: Value?
    /// Whether the last property is the root's own.
    let hasOneStep: Bool
    private let hears: UInt32
    /// The owner of the user's observation. The root's property looks after it as after those of its own. (P13)
    private let owner: WeakReference?
    /// Where the changes go, if they are not delivered inline.
    private let posting: ChangeReceiver<Value>?
    /// The root's property, which the path does not retain. (P11)
    private weak var rootProperty: PathObject?
    private var leaf: Leaf?
    /// The path's version when it was last wired.
    private var version: UInt64 = 0
    private var hasEnded = false

    private let isRootGone = Atomic<Bool>(false)
    private let isDropped = Atomic<Bool>(false)
    /// Deliveries that the end must wait for: that of each wiring, each leaf until it is done, and one until the root is gone.
    private let pending = Atomic<Int>(1)

    /// The last property, and the path's end there.
    private struct Leaf {
        /// What the path retains: nil for the root's own.
        let property: PathObject?
        let cut: PathLeaf<Value>
        /// Whether the path passes the property, too: one change of it is heard from there, and
        /// moves the path.
        let isPassed: Bool
    }

    /// A property on the way.
    private struct Link {
        let step: PathLink
        /// What the path retains: nil for the root's own, and while the path does not lead here.
        var property: PathObject?
        var observer: Observer?
        /// The version of the property for which the path below it is wired.
        var seen: UInt64 = 0
    }

    @usableFromInline
    init<Root>(
        _ path: ObservedPath<Root, Value>,
        options: ObservationOptions,
        owner: WeakReference?,
        posting: ChangeReceiver<Value>?
    ) {
        last = path.last!
        self.owner = owner
        self.posting = posting
        links = path.links.map { Link(step: $0) }
        absent = path.absent
        hasOneStep = path.links.isEmpty
        hears = options.contains(.prior) ? ObserverState.hearsPrior : 0
    }

    /// The list's memory goes: its core must not tidy it up any more.
    deinit { observers.endAll(.cancelled, isSourceGone: true) }
}

// MARK: - Wiring

extension PathObservation {
    /// Wires the whole path. Returns its value at version 0.
    func connect(to root: PathObject) -> Value {
        var round = Round()
        let value = wire(below: nil, to: root, &round)
        if turn.giveBack() { settle() }
        round.letGo(for: self)
        return value
    }

    /// Wires the path below a link anew, to what that leads to. With the turn.
    ///
    /// - Returns: The path's value.
    private func wire(below index: Int?, to object: PathObject?, _ round: inout Round) -> Value {
        var next = object
        var depth = index.map { $0 + 1 } ?? 0
        while depth < links.count, let object = next {
            let isRoot = depth == 0
            // The root is the caller's.
            if !isRoot { round.keep(object, of: links[depth - 1].step) }
            let step = links[depth].step
            let property = step.property(in: object)
            let observer = makeObserver(step.core(of: property), hears: ObserverState.isLink, isRoot: isRoot)
            observer.setCallback(Callback<Void> { [self] in linkHasChanged() })
            if isRoot { rootProperty = property } else { links[depth].property = property }
            links[depth].observer = observer
            let present = step.publish(observer, of: property)
            links[depth].seen = present.version
            next = present.object
            depth += 1
        }
        guard let object = next else { return absent! }
        if depth > 0 { round.keep(object, of: links[depth - 1].step) }
        return attach(to: object, isRoot: depth == 0)
    }

    /// Leads the path to its last property, in `object`. Returns the value there. With the turn.
    private func attach(to object: PathObject, isRoot: Bool) -> Value {
        // Relaxed: the turn orders it before anything that could bring the count to zero.
        pending.add(1, ordering: .relaxed)
        let property = last.property(in: object)
        let observer = makeObserver(
            last.core(of: property),
            hears: hears | (posting?.marks ?? 0),
            isRoot: isRoot
        )
        let cut = PathLeaf(of: self, user: user!, observer: observer, base: version)
        if let posting { last.connect(observer, to: cut, posting) } else { last.connect(observer, to: cut) }
        if isRoot { rootProperty = property }
        let isPassed = links.contains { link in link.observer?.core === observer.core }
        leaf = Leaf(property: isRoot ? nil : property, cut: cut, isPassed: isPassed)
        // The caller holds the object.
        return last.publish(observer, of: property).value
    }

    /// An observer of a property of the path, without its closure.
    private func makeObserver(_ core: RegistryCore, hears: UInt32, isRoot: Bool) -> VersionedObserver {
        let observer = VersionedObserver(core: core, owner: isRoot ? owner : nil, hears: hears | ObserverState.isWiring)
        guard isRoot else { return observer }
        observer.begin(path: observers.core())
        // The others are retained until their observers have ended.
        _ = observer.whenFinished { [self] end in if end == .sourceDeleted { rootIsGone() } }
        return observer
    }

    /// Ends what is registered below a link. Returns the path's last value there, and its version. With the turn.
    private func cut(below index: Int, _ round: inout Round) -> (value: Value, version: UInt64) {
        leave(links.indices.suffix(from: index + 1), &round)
        return cutLeaf(&round) ?? (absent!, version)
    }

    /// Ends what is registered on links. With the turn.
    private func leave(_ depths: Range<Int>, _ round: inout Round) {
        for depth in depths {
            links[depth].observer?.end(.cancelled)
            links[depth].observer = nil
            if let property = links[depth].property.take() { round.kept.append(property) }
        }
    }

    /// Leads the path away from its last property: later changes of it are not delivered. Returns the last value there, and the path's
    /// version for it; nil if the path leads nowhere, or the property is gone. With the turn.
    private func cutLeaf(_ round: inout Round) -> (value: Value, version: UInt64)? {
        guard let leaf = leaf.take(), let property = held(leaf.property, isRoot: hasOneStep, &round) else { return nil }
        if leaf.isPassed { round.isLate = true }
        let (value, version) = last.cut(leaf.cut, of: property)
        leaf.cut.expectDeliveries(through: version)
        return (value, leaf.cut.number(of: version))
    }

    /// The property of a link or a leaf, kept until the turn is given back; nil if the path does not lead there, or the root's is gone.
    private func held(_ retained: PathObject?, isRoot: Bool, _ round: inout Round) -> PathObject? {
        guard let property = isRoot ? rootProperty : retained else { return nil }
        if isRoot { round.brief.append(property) } else { round.kept.append(property) }
        return property
    }

    /// Brings the path up to date after a change of one of its links, unless somebody is at it, who will.
    private func settle() {
        var round = Round()
        inject("path.turn")
        var rounds = 0
        while turn.take() {
            endIfNeeded(&round)
            rewire(&round)
            guard turn.giveBack() else { break }
            rounds += 1
            // Whoever keeps coming is not served by this thread for ever: it has something to tell.
            if rounds == Self.mostRounds {
                handOn()
                break
            }
        }
        round.letGo(for: self)
        guard !round.changes.isEmpty || round.endings > 0 else { return }
        if let posting, !posting.isSerial { posting.wake() }
        Rewirings.tell(isLate: round.isLate) { [self, changes = round.changes, endings = round.endings] in
            posting?.drain()
            for change in changes {
                if posting == nil { tell(change) }
                finishOne()
            }
            for _ in 0..<endings { finishOne() }
        }
    }

    /// So often in a row one thread wires the path anew.
    private static var mostRounds: Int { 8 }

    /// What is left to do when the turn is given back.
    private struct Round {
        /// To be told, each with a `finishOne`.
        var changes: [Change<Value>] = []
        /// How many more of `finishOne` are owed.
        var endings = 0
        /// Whether a change of the last property may be heard on this thread that comes before
        /// them.
        var isLate = false
        /// The root's property, and referents of weak ones: not kept for a moment longer than the turn. (P11)
        var brief: [AnyObject] = []
        /// What else was on the way, or is, or has been looked at. This may be all that keeps it: its end is user code, and what observes it.
        var kept: [AnyObject] = []

        /// Keeps an object to which a step has led.
        mutating func keep(_ object: PathObject, of step: PathLink) {
            if step.isWeak { brief.append(object) } else { kept.append(object) }
        }

        /// Without the turn. What is kept is released elsewhere: it may be the last to go, and take its time. (P5)
        mutating func letGo(for path: AnyObject) {
            brief = []
            if !kept.isEmpty { ThreadRecord.retire(Errand(for: path, lettingGoOf: &kept)) }
        }
    }

    /// Wires anew below every link that has changed. With the turn.
    private func rewire(_ round: inout Round) {
        var index = 0
        while index < links.count, !hasEnded {
            guard let property = held(links[index].property, isRoot: index == 0, &round) else { break }
            let (object, seen) = links[index].step.sample(property)
            if let object { round.keep(object, of: links[index].step) }
            guard seen != links[index].seen else {
                index += 1
                continue
            }
            inject("path.rewire")
            let old = cut(below: index, &round)
            links[index].seen = seen
            version = old.version &+ 1
            let new = wire(below: index, to: object, &round)
            pending.add(1, ordering: .relaxed)  // Relaxed: as in attach(to:isRoot:).
            let change = Change(reason: .pathChanged(depth: index), old: old.value, new: new, version: version)
            // Now: later versions wait for it. Before the count is given back: the end comes after it.
            posting?.enqueue(change)
            round.changes.append(change)
            index += 1
        }
    }
}

// MARK: - Telling

extension PathObservation {
    func setUser(_ observer: Observer) { user = observer }

    /// Calls the user's observer with a change. Without a walk: the path holds the only one there is.
    func tell(_ change: Change<Value>) { change.tell(user!.address) }

    /// Counts one thing less that the end has to wait for.
    func finishOne() {
        // Acquire and release: what was delivered before happens before the end is told.
        let left = pending.subtract(1, ordering: .acquiringAndReleasing).newValue
        if isOver(left) { user?.end(.sourceDeleted) }
    }
}

extension PathObservation {
    /// Whether nothing is left that the end has to wait for.
    private func isOver(_ left: Int) -> Bool {
        #if INSTRUMENTED
        if mutant(.aPathsEndDoesNotWait) { return left == 0 || hasEnded }
        #endif
        return left == 0
    }

    private func linkHasChanged() {
        #if INSTRUMENTED
        if mutant(.aRewiringIsLost) { return }
        #endif
        settle()
    }

    /// Leaves the path to a thread of the library.
    private func handOn() {
        #if INSTRUMENTED
        if mutant(.racingReplacementsAreNotHandedOn) { return }
        #endif
        ThreadRecord.retire(Errand(for: self) { [self] in settle() })
    }
}

// MARK: - The end

extension PathObservation {
    /// The user's observation has ended: the path needs no observers any more.
    func drop() {
        // Relaxed: the turn orders it.
        isDropped.store(true, ordering: .relaxed)
        settle()
    }

    /// The property of the path's root is gone.
    private func rootIsGone() {
        // Relaxed: the turn orders it.
        isRootGone.store(true, ordering: .relaxed)
        settle()
    }

    /// Ends all that is registered, if the root or the user's observation is gone. With the turn.
    private func endIfNeeded(_ round: inout Round) {
        // Relaxed, both: the turn orders them.
        let (isDropped, isRootGone) = (isDropped.load(ordering: .relaxed), isRootGone.load(ordering: .relaxed))
        guard !hasEnded, isDropped || isRootGone else { return }
        hasEnded = true
        leave(links.indices, &round)
        if isDropped {
            guard let leaf = leaf.take() else { return }
            if let property = leaf.property { round.kept.append(property) }
            return leaf.cut.drop()
        }
        round.endings += 1
        // A leaf that is the root's own is gone with it: nothing more can come from it.
        if leaf != nil, cutLeaf(&round) == nil { round.endings += 1 }
    }
}
