// SPDX-License-Identifier: Apache-2.0

/// Notified when a dependency of a derived value changes.
@usableFromInline
internal class LinkFollower: @unchecked Sendable {
    // Unchecked: subclasses say who has what.
    init() {}

    /// Brings the derived value up to date, and notifies its observers. Under no lock.
    ///
    /// - Parameter cause: The change that caused this, if the calling thread delivers it.
    func settle(becauseOf cause: DeliveryScope?) { preconditionFailure("an observation settles") }

    /// Called when a property that the derived value depends on has died. Under no lock.
    func rootIsGone() {}
}

/// The deliveries that remain after a walk over the links of a changed property. Most often that is
/// the evaluation of one derived value, and nothing is allocated.
///
/// Derived values that come before the first path are kept here, and those after it are kept with
/// the paths: so all are called in the order of the links.
@usableFromInline
internal struct LinkDeliveries: ~Copyable {
    // Handed from function to function on one thread.
    /// The change of the property. Nil if it has no scope, or if other threads or a callback have
    /// changed the property since: then this thread does not deliver the latest change.
    let cause: DeliveryScope?
    private var first: LinkFollower?
    /// The derived values after the first. Nil if there are none.
    private var others: [LinkFollower]?
    private var ofPaths: DeferredDeliveries?

    @usableFromInline
    init(becauseOf cause: DeliveryScope? = nil) { self.cause = cause }

    /// Returns the deliveries of paths, to add to.
    mutating func paths() -> DeferredDeliveries {
        if let ofPaths { return ofPaths }
        let new = DeferredDeliveries()
        ofPaths = new
        return new
    }

    /// Adds the evaluation of a derived value.
    mutating func add(_ follower: LinkFollower) {
        if let ofPaths {
            ofPaths.add(isLate: false) { [cause] in follower.settle(becauseOf: cause) }
        } else if first == nil {
            first = follower
        } else {
            if others == nil { others = [] }
            others!.append(follower)
        }
    }

    /// Releases what the paths have kept: see `DeferredDeliveries`.
    borrowing func releaseKept() { ofPaths?.releaseKept() }

    /// Makes the deliveries, except the late and the serial ones of paths.
    @usableFromInline
    borrowing func deliver() {
        if let first {
            first.settle(becauseOf: cause)
            for follower in others ?? [] { follower.settle(becauseOf: cause) }
        }
        ofPaths?.deliver()
    }

    /// Makes the late deliveries of paths, then the serial ones.
    @usableFromInline
    borrowing func deliverLate() { ofPaths?.deliverLate() }
}

/// An observation of a path, as the properties on the way know it. Each observer in their lists of
/// links holds one.
@usableFromInline
internal class LinkedPath: SourceWitness, @unchecked Sendable {
    // Unchecked: subclasses say who has what.
    override init() {}

    /// Relinks the path after a change of one of its links. The path finds out which one, and its
    /// value.
    ///
    /// - Parameter deferred: Receives the deliveries to the path's observers.
    @usableFromInline
    func linkHasChanged(_ deferred: inout LinkDeliveries) { fatalError("a path relinks itself") }
}

extension ObserverList {
    /// Relinks all paths that lead through this property, and collects the derived values that
    /// depend on it. Calls no observer.
    ///
    /// - Parameter isLatest: Whether the property still has this version.
    /// - Returns: The deliveries to the observers of the paths and the derived values.
    @usableFromInline @inline(never)
    internal borrowing func relinkPaths(version: UInt64, isLatest: Bool) -> LinkDeliveries {
        var deferred = LinkDeliveries(becauseOf: isLatest ? DeliveryScope.current(version, of: identity) : nil)
        walk(.links()) { (link: borrowing LentObserver<HeldObject<LinkedPath>>) in
            guard link.since < version else { return }
            link.withObject { path in path.linkHasChanged(&deferred) }
        }
        deferred.releaseKept()
        return deferred
    }
}

/// Deliveries to observers of paths, which wait until every path that leads through a changed
/// property is relinked.
///
/// First all such paths are relinked, then their observers are called, then those of the property:
/// a callback that blocks, of any observer, never stands between a change and the paths that it
/// moves. (P7)
///
/// Serial deliveries of paths come last, as those of the property do. (P1)
///
/// A path may pass the changed property and also end there. It receives the change itself as one of
/// the property's observers. After that, on the same thread, it receives where it leads now: so the
/// versions come in order. (P2)
@usableFromInline
internal final class DeferredDeliveries {
    // Handed from function to function on one thread.
    private var firstDelivery: (() -> Void)?
    /// The deliveries after the first. Most often there are none, and nothing is allocated.
    var deliveries: [() -> Void] = []
    private var lateDeliveries: [() -> Void] = []
    private var serialDeliveries: [() -> Void] = []

    /// The objects that the paths have used while they were relinked.
    private var kept: [AnyObject] = []

    init() {}

    /// Takes over references, until all paths are relinked.
    func keep(_ objects: inout [AnyObject]) {
        kept += objects
        objects = []
    }

    /// Releases the kept references. One may be the last, and its release runs user code. Call it
    /// after the walk over the paths, and before the deliveries: a callback that blocks then keeps
    /// no referent alive. (P5, P7, P11)
    func releaseKept() { if !kept.isEmpty { ThreadRecord.withUserCode { kept = [] } } }

    /// Adds a delivery that empties a mailbox on this thread.
    func addSerial(_ delivery: @escaping () -> Void) { serialDeliveries.append(delivery) }

    /// Adds a delivery.
    ///
    /// - Parameter isLate: Whether it comes after the property's own observers were called.
    func add(isLate: Bool, _ delivery: @escaping () -> Void) {
        if isLate {
            lateDeliveries.append(delivery)
        } else if firstDelivery == nil {
            firstDelivery = delivery
        } else {
            deliveries.append(delivery)
        }
    }

    /// Makes the deliveries, except the late and the serial ones.
    @usableFromInline
    func deliver() {
        guard let firstDelivery else { return }
        firstDelivery()
        for delivery in deliveries { delivery() }
    }

    /// Makes the late deliveries, then the serial ones.
    @usableFromInline
    func deliverLate() {
        for delivery in lateDeliveries { delivery() }
        for delivery in serialDeliveries { delivery() }
    }
}
