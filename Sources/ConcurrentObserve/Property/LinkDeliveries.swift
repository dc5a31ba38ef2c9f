// SPDX-License-Identifier: Apache-2.0

/// What is called when a property has changed that a derived value is made of.
@usableFromInline
internal class LinkFollower: @unchecked Sendable {
    // Unchecked: subclasses say who has what.
    init() {}

    /// Brings the derived value up to date, and notifies its observers. Under no lock.
    ///
    /// - Parameter cause: The change that the calling thread announces, if that is why.
    func settle(becauseOf cause: AnnouncedChange?) { preconditionFailure("an observation settles") }

    /// A property that the derived value is made of has died. Under no lock.
    func rootIsGone() {}
}

/// What is left to do when the links of a changed property are walked: most often one derived value is evaluated, and nothing is allocated.
///
/// Derived values that come before the first path are kept here, what comes after it is kept with the paths: all are called in the order of
/// the links.
@usableFromInline
internal struct LinkDeliveries: ~Copyable {
    // Handed from function to function on one thread.
    private var first: LinkFollower?
    private var cause: AnnouncedChange?
    /// Those after the first.
    private var others: [(follower: LinkFollower, cause: AnnouncedChange?)] = []
    private var ofPaths: DeferredDeliveries?

    @usableFromInline
    init() {}

    /// Where paths keep their deliveries.
    mutating func paths() -> DeferredDeliveries {
        if let ofPaths { return ofPaths }
        let new = DeferredDeliveries()
        ofPaths = new
        return new
    }

    /// Keeps the evaluation of a derived value for later.
    mutating func add(_ follower: LinkFollower, becauseOf cause: AnnouncedChange?) {
        if let ofPaths {
            ofPaths.add(isLate: false) { follower.settle(becauseOf: cause) }
        } else if first == nil {
            (first, self.cause) = (follower, cause)
        } else {
            others.append((follower, cause))
        }
    }

    /// See `DeferredDeliveries`.
    borrowing func releaseKept() { ofPaths?.releaseKept() }

    /// Makes the deliveries, but for the late ones of paths.
    @usableFromInline
    borrowing func deliver() {
        if let first {
            first.settle(becauseOf: cause)
            for (follower, cause) in others { follower.settle(becauseOf: cause) }
        }
        ofPaths?.deliver()
    }

    /// Makes the late ones.
    @usableFromInline
    borrowing func deliverLate() { ofPaths?.deliverLate() }
}
