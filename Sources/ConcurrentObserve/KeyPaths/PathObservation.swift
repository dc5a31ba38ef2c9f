// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One observation of a path: observers of the library's own on every property of the path, and a list with the user's, to which
/// they pass on what they receive.
///
/// Changes of the last property go straight through (see `PathLeaf`). When another property changes, the path below it is relinked
/// by one thread at a time, which no other waits for: a `DrainLoop`. Nothing is held while the user's observer is called.
@usableFromInline
internal final class PathObservation<Value: Sendable>: LinkedPath, @unchecked Sendable {
    // Unchecked: `links`, `rootProperty`, `leaf`, `version` and `hasEnded` belong to the thread in the drain loop.

    /// The list of the user's observer.
    @usableFromInline let observers = ObserverList()

    /// The user's observer. Written once, before the path is linked.
    var user: Observer?

    let loop = DrainLoop(isEntered: true)
    var links: [Link]
    let last: PathStep<Value>
    let absent: Value?
    /// Whether the last property is the root's own.
    let hasOneStep: Bool
    let marks: ObserverMark
    private let isOfBinding: Bool
    /// Whether the user's observer is the library's, of properties that are observed together.
    let isOfCombination: Bool
    /// The owner of the user's observation. The root's property looks after it as after those of its own. (P13)
    let owner: WeakReference?
    /// Where the changes go, if they are not delivered inline.
    let receiver: ChangeReceiver<Value>?
    /// The root's property, which the path does not retain. (P11)
    weak var rootProperty: PathObject?
    var leaf: Leaf?
    /// The path's version when it was last linked.
    var version: UInt64 = 0
    var hasEnded = false

    let isRootGone = Atomic<Bool>(false)
    let isDropped = Atomic<Bool>(false)
    /// Deliveries that the end must wait for: that of each relinking, each leaf until it is done, and one until the root is gone.
    let pending = Atomic<Int>(1)

    /// The last property, and the path's end there.
    struct Leaf {
        /// What the path retains: nil for the root's own.
        let property: PathObject?
        let cut: PathLeaf<Value>
        /// Whether the path passes the property, too: one change of it is delivered from there, and
        /// moves the path.
        let isPassed: Bool
    }

    /// A property on the way.
    struct Link {
        let step: PathLink
        /// What the path retains: nil for the root's own, and while the path does not lead here.
        var property: PathObject?
        var observer: Observer?
        /// The version of the property for which the path below it is linked.
        var seen: UInt64 = 0

        /// What the thread announces, if that is the change of the property to a version, and the
        /// only one since the path was linked. What several threads have changed is of neither.
        func cause(of version: UInt64) -> AnnouncedChange? {
            guard let observer, seen + 1 == version else { return nil }
            return AnnouncedChange.current(version, of: observer.sourceIdentity)
        }
    }

    @usableFromInline
    init<Root>(
        _ path: ObservedPath<Root, Value>,
        options: ObserverOptions,
        owner: WeakReference?,
        receiver: ChangeReceiver<Value>?
    ) {
        last = path.last!
        self.owner = owner
        self.receiver = receiver
        links = path.links.map { Link(step: $0) }
        absent = path.absent
        hasOneStep = path.links.isEmpty
        marks = options.marks
        isOfBinding = options.contains(.ofBinding)
        isOfCombination = options.contains(.ofCombination)
        super.init()
    }

    @usableFromInline
    override func linkHasChanged(_ deferred: inout LinkDeliveries) {
        settle(deferred.paths())
    }

    /// The list's memory goes: its core must not tidy it up any more.
    deinit { observers.endSource(.cancelled) }
}

// MARK: - Delivering

extension PathObservation {
    func setUser(_ observer: Observer) { user = observer }

    /// Calls the user's observer with a change. Without a walk: the path holds the only one there is.
    func deliver(_ change: Change<Value>) { change.deliver(to: user!.address) }

    /// Delivers a change with what is known of it.
    func deliver(_ change: Change<Value>, as relayed: RelayedChange?) {
        guard let relayed else { return deliver(change) }
        relayed.perform { deliver(change) }
    }

    /// Counts one thing less that the end has to wait for.
    func finishOne() {
        // Acquire and release: what was delivered before happens before the end is delivered.
        let left = pending.subtract(1, ordering: .acquiringAndReleasing).newValue
        if isOver(left) { user?.end(.sourceDeleted) }
    }
}

// MARK: - What a change shows

extension PathObservation {
    /// Whether changes are delivered with the versions that they show: a binding receives them.
    var showsVersions: Bool {
        return isOfBinding
    }

    /// The versions by which the path leads where it does; nil if there is none, or no binding
    /// receives its changes. Inside the drain loop.
    var way: ShownVersion? {
        guard showsVersions else { return nil }
        return links.reduce(nil) { before, link in
            guard let observer = link.observer else { return before }
            return ShownVersion(link.seen, of: observer.core, isValue: false, after: before)
        }
    }

    /// What is known of a change that leads the path where it leads now. Inside the drain loop.
    ///
    /// - Parameter cause: What has brought the change, if the thread announces that.
    func relayed(_ version: UInt64, becauseOf cause: AnnouncedChange?) -> RelayedChange? {
        RelayedChange.ofPath(
            version,
            of: observers.identity,
            becauseOf: cause,
            // It leads elsewhere, to another value.
            keepsValue: false,
            showing: showsVersions ? leaf.map { $0.cut.shown($0.cut.since) } ?? way : nil
        )
    }
}

extension PathObservation {
    /// Whether nothing is left that the end has to wait for.
    private func isOver(_ left: Int) -> Bool {
        return left == 0
    }
}

// MARK: - The end

extension PathObservation {
    /// The user's observation has ended: the path needs no observers any more.
    func drop() {
        // Relaxed: the drain loop orders it.
        isDropped.store(true, ordering: .relaxed)
        settle()
    }

    /// The property of the path's root is gone.
    func rootIsGone() {
        // Relaxed: the drain loop orders it.
        isRootGone.store(true, ordering: .relaxed)
        settle()
    }

    /// Ends all that is registered, if the root or the user's observation is gone. Inside the drain loop.
    func endIfNeeded(_ round: inout Round) {
        // Relaxed, both: the drain loop orders them.
        let (isDropped, isRootGone) = (isDropped.load(ordering: .relaxed), isRootGone.load(ordering: .relaxed))
        guard !hasEnded, isDropped || isRootGone else { return }
        hasEnded = true
        endLinks(links.indices, &round)
        if isDropped {
            guard let leaf = leaf.take() else { return }
            if let property = leaf.property { round.kept.append(property) }
            return leaf.cut.drop()
        }
        round.endings += 1
        // First: a commit that finds the path cut is not delivered to a combination without it. (P21)
        if isOfCombination { user?.markCutOff() }
        // A leaf that is the root's own is gone with it: nothing more can come from it.
        if leaf != nil, cutLeaf(&round) == nil { round.endings += 1 }
    }
}
