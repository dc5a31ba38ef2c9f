// SPDX-License-Identifier: Apache-2.0

// A *link* of a path is a step before the last one, and the *leaf* is the end of the path at its
// last property. Properties *on the way* are those of the links. The comment at the top of
// `Path.swift` explains this folder.

import Synchronization

/// One observation of a path: the library's own observer on each property of the path, and a list
/// with the user's observer.
///
/// `PathLeaf` passes on the changes of the last property. When another property changes, one thread
/// at a time relinks the path below it, in a `DrainLoop`; no other thread waits for it. The user's
/// observer is called under no lock, and outside that loop.
@usableFromInline
internal final class PathObservation<Value: Sendable>: LinkReceiver, @unchecked Sendable {
    // Unchecked: `links`, `rootProperty`, `leaf`, `version` and `hasEnded` belong to the thread in
    // the drain loop.

    /// The list that holds the user's observer.
    @usableFromInline let observers = ObserverList()

    /// The user's observer. It is set once, before the path is linked.
    var user: Observer?

    let loop = DrainLoop(isEntered: true)
    var links: [Link]
    let last: PathStep<Value>
    let absent: Value?
    let options: ObserverOptions
    /// The owner of the user's observation. The observer of the root's property is bound to it as
    /// well. (P13)
    let owner: WeakReference?
    /// Receives the changes for a mailbox; nil if they are delivered inline.
    let receiver: ChangeReceiver<Value>?
    /// The root's property, which the path does not retain; nil once it is gone. (P11)
    weak var rootProperty: (any PathProperty)?
    var leaf: Leaf?
    /// The path's version when it was last linked.
    var version: UInt64 = 0
    var hasEnded = false

    let isRootGone = Atomic<Bool>(false)
    let isDropped = Atomic<Bool>(false)
    /// The number of things that the end must wait for: the delivery of each relinking, each leaf
    /// until it is done, and one until the root is gone.
    let pending = Atomic<Int>(1)

    /// The last property, and the end of the path there.
    struct Leaf {
        /// The property, which this struct retains; nil if it is the root's own property.
        let property: (any PathProperty)?
        let cut: PathLeaf<Value>
        /// Whether a link of the path is at the same property. Then the leaf delivers a change that
        /// also leads the path to another property.
        let isPassed: Bool
    }

    /// A step before the last one, with its property and the observer there.
    struct Link {
        let step: PathLink
        /// The property, which this struct retains. Nil if it is the root's own property, and while
        /// the path does not lead here.
        var property: (any PathProperty)?
        var observer: Observer?
        /// The version of the property for which the path below it is linked.
        var seen: UInt64 = 0

        /// Returns `scope` if it is the scope of the change to `version`, and no other change of
        /// the property came since the path was linked; otherwise nil. Several changes have no
        /// single cause.
        func cause(of version: UInt64, in scope: DeliveryScope?) -> DeliveryScope? {
            guard let observer, let scope, seen + 1 == version else { return nil }
            return scope.isChange(version, of: observer.sourceIdentity) ? scope : nil
        }
    }

    @usableFromInline
    init<Root>(
        _ path: _ObservedPath<Root, Value>,
        options: ObserverOptions,
        owner: WeakReference?,
        receiver: ChangeReceiver<Value>?
    ) {
        (last, links, absent) = (path.last!, path.links.map { Link(step: $0) }, path.absent)
        (self.options, self.owner, self.receiver) = (options, owner, receiver)
        super.init()
    }

    override var pathCore: RegistryCore? { observers.existingCore }

    @usableFromInline
    override func linkHasChanged(_ deferred: inout LinkDeliveries) {
        settle(&deferred)
    }

    /// Ends the list of the user's observer, because the list's memory is about to be freed. The
    /// list's core must not clean it up afterwards.
    deinit { observers.endSource(.cancelled) }
}

// MARK: - Delivering

extension PathObservation {
    /// Whether the last property is the root's own.
    var hasOneStep: Bool { links.isEmpty }

    /// Whether each change is delivered with the versions of the properties on the way, and of the
    /// last property (see `ShownVersion`). Only a binding needs them.
    var showsVersions: Bool { options.contains(.ofBinding) }

    /// Whether the user's observer belongs to a combination: properties that are observed together.
    var isOfCombination: Bool { options.contains(.ofCombination) }

    /// Calls the user's observer with a change, in a scope if there is one. No walk is needed: the
    /// list has no other observer, and the path retains this one.
    func deliver(_ change: Change<Value>, in scope: DeliveryScope?) {
        let address = user!.address
        if let scope { scope.perform { change.deliver(to: address) } } else { change.deliver(to: address) }
    }

    /// Subtracts one from `pending`. At zero, ends the user's observation.
    func finishOne() {
        // Acquire and release: earlier deliveries happen before the end is delivered.
        let left = pending.subtract(1, ordering: .acquiringAndReleasing).newValue
        if left == 0 { user?.end(.sourceDeleted) }
    }
}

// MARK: - What a change shows

extension PathObservation {
    /// The properties on the way, each with the version for which the path is linked. Nil if there
    /// are none, or if no binding receives the changes. The caller must be in the drain loop.
    var way: ShownVersion? {
        guard showsVersions else { return nil }
        return links.reduce(nil) { before, link in
            guard let observer = link.observer else { return before }
            return ShownVersion(link.seen, of: observer.core, isValue: false, after: before)
        }
    }

    /// Makes the scope of a change that led the path where it leads now. Nil if it has no known
    /// cause and no binding receives it. The caller must be in the drain loop.
    ///
    /// - Parameter cause: The change that caused this one, if the calling thread delivers it.
    func scope(of version: UInt64, becauseOf cause: DeliveryScope?) -> DeliveryScope? {
        DeliveryScope.ofPath(
            version,
            of: observers.identity,
            becauseOf: cause,
            // The path leads elsewhere, to another value.
            keepsValue: false,
            showing: showsVersions ? leaf.map { $0.cut.shown($0.cut.since) } ?? way : nil
        )
    }
}

// MARK: - The end

extension PathObservation {
    /// Ends the library's observers, because the user's observation has ended.
    func drop() {
        // Relaxed: the drain loop orders it.
        isDropped.store(true, ordering: .relaxed)
        settle()
    }

    /// Ends the observation, because the property of the path's root is gone.
    func rootIsGone() {
        // Relaxed: the drain loop orders it.
        isRootGone.store(true, ordering: .relaxed)
        settle()
    }

    /// Ends the library's observers, if the root is gone or the user's observation has ended. The
    /// caller must be in the drain loop.
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
        // Before the cut: a commit that finds the path cut must find the mark, too. Otherwise a
        // combination would publish the commit's other changes without this one. (P21)
        if isOfCombination { user?.markCutOff() }
        // If the leaf is at the root's own property, the property is gone as well, and sends no
        // more changes.
        if leaf != nil, cutLeaf(&round) == nil { round.endings += 1 }
    }
}
