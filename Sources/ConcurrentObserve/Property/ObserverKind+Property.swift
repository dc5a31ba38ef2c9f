// SPDX-License-Identifier: Apache-2.0

// A property has a third kind of observers. A change comes to the kinds one after the other: first
// the paths that go on from the property are relinked, then the mailboxes are woken, then the
// inline callbacks are called, then the serial deliveries run. (P1)

extension ObserverKind where Content: ~Copyable {
    /// Links of paths that go on from the property.
    @inlinable @inline(__always)
    static func links() -> ObserverKind where Content == HeldObject<LinkedPath> { ObserverKind(.third) }
}

extension ObserverMark {
    /// The observer receives a delivery before each change, too.
    @inlinable
    static var receivesPrior: ObserverMark { .flagged }
}

// Counted by no reference, all of these. (P15)
extension ObserverList {
    /// Whether observers may receive a delivery before a change.
    @inlinable
    var mayHavePriorObservers: Bool { mayHaveFlaggedObservers }

    /// Whether paths may go on from here.
    @inlinable
    var mayHaveLinks: Bool { mayHaveObservers(in: .third) }
}
