// SPDX-License-Identifier: Apache-2.0

/// Notified when a dependency of a derived value changes.
@usableFromInline
internal class LinkFollower: @unchecked Sendable {
    // Unchecked: subclasses say who has what.
    init() {}

    /// Brings the derived value up to date, and notifies its observers. Under no lock.
    ///
    /// - Parameter cause: The change that caused this, if the calling thread announces it.
    func settle(becauseOf cause: AnnouncedChange?) { preconditionFailure("an observation settles") }

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
    private var first: LinkFollower?
    private var cause: AnnouncedChange?
    /// The derived values after the first.
    private var others: [(follower: LinkFollower, cause: AnnouncedChange?)] = []
    private var ofPaths: DeferredDeliveries?

    @usableFromInline
    init() {}

    /// Returns the deliveries of paths, to add to.
    mutating func paths() -> DeferredDeliveries {
        if let ofPaths { return ofPaths }
        let new = DeferredDeliveries()
        ofPaths = new
        return new
    }

    /// Adds the evaluation of a derived value.
    mutating func add(_ follower: LinkFollower, becauseOf cause: AnnouncedChange?) {
        if let ofPaths {
            ofPaths.add(isLate: false) { follower.settle(becauseOf: cause) }
        } else if first == nil {
            (first, self.cause) = (follower, cause)
        } else {
            others.append((follower, cause))
        }
    }

    /// Releases what the paths have kept: see `DeferredDeliveries`.
    borrowing func releaseKept() { ofPaths?.releaseKept() }

    /// Makes the deliveries, except the late and the serial ones of paths.
    @usableFromInline
    borrowing func deliver() {
        if let first {
            first.settle(becauseOf: cause)
            for (follower, cause) in others { follower.settle(becauseOf: cause) }
        }
        ofPaths?.deliver()
    }

    /// Makes the late deliveries of paths, then the serial ones.
    @usableFromInline
    borrowing func deliverLate() { ofPaths?.deliverLate() }
}
