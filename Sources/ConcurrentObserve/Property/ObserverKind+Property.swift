// SPDX-License-Identifier: Apache-2.0

// A property has a third kind of observers. A change comes to the kinds one after the other: first
// the paths that go on from the property are relinked, then the mailboxes are woken, then the
// inline callbacks are called, then the serial deliveries run. (P1)

extension ObserverKind where Content: ~Copyable {
    /// The links of paths that lead on from the property, and of derived values that depend on it.
    @inlinable @inline(__always)
    static func links() -> ObserverKind where Content == HeldObject<LinkedPath> { ObserverKind(.third) }
}

extension ObserverMark {
    /// The observer receives a delivery before each change, too.
    @inlinable
    static var receivesPrior: ObserverMark { .flagged }
}

extension ObserverList {
    /// Whether observers may receive a delivery before a change.
    @inlinable @inline(__always)
    var mayHavePriorObservers: Bool { mayHave(ListHints.flagged) }

    /// Whether there may be mailboxes, or paths that go on from here.
    @inlinable @inline(__always)
    var mayHaveMailboxesOrLinks: Bool { mayHave(ListHints.second | ListHints.third) }
}
