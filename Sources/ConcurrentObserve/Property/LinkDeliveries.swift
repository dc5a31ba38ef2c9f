// SPDX-License-Identifier: Apache-2.0

/// The observation of a derived value. It is notified when a dependency of the derived value
/// changes.
@usableFromInline
internal class LinkFollower: @unchecked Sendable {
    // Unchecked: subclasses say how their properties are guarded.
    init() {}

    /// Evaluates the derived value again if necessary, and notifies its observers. The caller must
    /// hold no lock.
    ///
    /// - Parameter cause: The change of the dependency, if the calling thread delivers it;
    ///   otherwise nil.
    func settle(becauseOf cause: DeliveryScope?) { preconditionFailure("an observation settles") }

    /// Called when a property that the derived value depends on has died. The caller must hold no
    /// lock.
    func rootIsGone() {}
}

/// The deliveries that remain after a walk over the links of a changed property, in the order of
/// the links.
///
/// A *link* is an observer that the observation of a path or of a derived value has at a property.
/// A path is *relinked* when a property on it has changed: its links move to the properties that it
/// leads through now.
///
/// First all paths that lead through the property are relinked. Then the observers of these paths
/// are called, and then the observers of the property. A callback that blocks therefore never
/// delays the relinking of a path. (P7)
@usableFromInline
internal struct LinkDeliveries: ~Copyable {
    /// The scope of the property's change. Nil if the change has no scope, or if other threads or a
    /// callback have changed the property since: then this thread does not deliver the latest
    /// change.
    let cause: DeliveryScope?
    /// The first delivery, if it evaluates a derived value. If there is no other delivery, nothing
    /// is allocated.
    private var first: LinkFollower?
    /// The other deliveries. Nil if there are none.
    private var others: [Item]?
    /// The objects that paths have used while they were relinked. Nil if there are none.
    private var kept: [AnyObject]?

    enum Item {
        /// Evaluates a derived value.
        case evaluation(LinkFollower)
        /// Calls the observer of a path.
        case path(() -> Void)
        /// Calls the observer of a path that leads through the changed property and also ends
        /// there. The observer receives the change itself as one of the property's observers. After
        /// that, on the same thread, it receives the path's new value, which has the higher
        /// version. (P2)
        case late(() -> Void)
        /// Empties the mailbox of a path. It comes last, as the serial deliveries of the property
        /// do. (P1)
        case serial(() -> Void)
    }

    @usableFromInline
    init(becauseOf cause: DeliveryScope? = nil) { self.cause = cause }

    mutating func add(_ delivery: Item) {
        if case .evaluation(let follower) = delivery, first == nil, others == nil { return first = follower }
        if others == nil { others = [] }
        others!.append(delivery)
    }

    /// Takes over the references in `objects`, and keeps them until `releaseKept()`.
    mutating func keep(_ objects: inout [AnyObject]) {
        if objects.isEmpty { return }
        if kept == nil { kept = [] }
        kept!.append(contentsOf: objects)
        objects = []
    }

    /// Releases the kept references. The release of a last reference may run user code. Call this
    /// after the walk over the paths, and before the deliveries: if a callback then blocks, no kept
    /// reference keeps an object alive. (P5, P7, P11)
    mutating func releaseKept() { if kept != nil { ThreadRecord.withUserCode { kept = nil } } }

    /// Makes the deliveries, except the late and the serial ones.
    @usableFromInline
    borrowing func deliver() {
        first?.settle(becauseOf: cause)
        guard let others else { return }
        for delivery in others {
            switch delivery {
            case .evaluation(let follower): follower.settle(becauseOf: cause)
            case .path(let deliver): deliver()
            case .late, .serial: break
            }
        }
    }

    /// Makes the late deliveries, then the serial ones.
    @usableFromInline
    borrowing func deliverLate() {
        guard let others else { return }
        for delivery in others { if case .late(let deliver) = delivery { deliver() } }
        for delivery in others { if case .serial(let deliver) = delivery { deliver() } }
    }
}

/// An object that a property notifies of a change before it calls its own observers: the
/// observation of a path that leads on from the property, or the link of a derived value that
/// depends on it. Each observer in the property's list of links holds one.
@usableFromInline
internal class LinkReceiver: SourceWitness, @unchecked Sendable {
    // Unchecked: subclasses say how their properties are guarded.
    override init() {}

    /// The core of the path's own list, which has the user's observer; nil if this object belongs
    /// to a derived value.
    var pathCore: RegistryCore? { nil }

    /// Handles a change of the property. A path finds out which of its links has changed, and
    /// relinks itself. A derived value adds its evaluation to `deferred`.
    ///
    /// - Parameter deferred: Receives the deliveries to the observers of the path or the derived
    ///   value.
    @usableFromInline
    func linkHasChanged(_ deferred: inout LinkDeliveries) { fatalError("a path relinks itself") }
}

extension ObserverList {
    /// Relinks all paths that lead through this property, and collects the derived values that
    /// depend on it. Calls no observer.
    ///
    /// - Parameters:
    ///   - version: The version of the property's change.
    ///   - isLatest: Whether the property still has this version.
    /// - Returns: The deliveries to the observers of the paths and the derived values.
    @usableFromInline @inline(never)
    internal borrowing func notifyLinks(version: UInt64, isLatest: Bool) -> LinkDeliveries {
        var deferred = LinkDeliveries(becauseOf: isLatest ? DeliveryScope.current(version, of: identity) : nil)
        walk(.links()) { (link: borrowing LentObserver<HeldObject<LinkReceiver>>) in
            guard link.since < version else { return }
            link.withObject { path in path.linkHasChanged(&deferred) }
        }
        deferred.releaseKept()
        return deferred
    }
}
