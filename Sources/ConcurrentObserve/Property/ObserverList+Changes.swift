// SPDX-License-Identifier: Apache-2.0

// A property has links in addition to callbacks and mailboxes. A change comes to the kinds one
// after the other: first the paths that go on from the property are relinked, then the mailboxes
// are woken, then the inline callbacks are called, then the serial deliveries run. (P1)

extension ObserverKind where Content: ~Copyable {
    /// The kind of the observers that are links: they belong to paths that lead on from the
    /// property, and to derived values that depend on it.
    @inlinable @inline(__always)
    static func links() -> ObserverKind where Content == HeldObject<LinkReceiver> { ObserverKind(.links) }
}

extension ObserverMark {
    /// The observer receives a delivery before each change, too.
    @inlinable
    static var receivesPrior: ObserverMark { .flagged }
}

extension ObserverList {
    /// Whether the property may have observers that receive a delivery before each change.
    @inlinable @inline(__always)
    var mayHavePriorObservers: Bool { mayHave(ListHints.flagged) }

    /// Whether the property may have mailboxes, or links (see `links()`).
    @inlinable @inline(__always)
    var mayHaveMailboxesOrLinks: Bool { mayHave(ListHints.mailboxes | ListHints.links) }
}

extension ObserverList {
    /// Calls every inline observer with a change. (P1, P2, P15)
    ///
    /// An observer receives every change that came after its registration, even if this thread
    /// delivers the change late. (P4)
    ///
    /// `version` is passed separately, because code that is compiled once for all types of value
    /// would have to look up where a change has its version.
    @inlinable @inline(__always)
    internal borrowing func deliver<Value>(_ change: Change<Value>, of version: UInt64) {
        walkClosures(before: version) { closure in
            closure(change)
        }
    }

    /// Calls the inline observers that are marked `isCombined`. They belong to combinations
    /// (properties that are observed together), or to paths of several steps. The caller must hold
    /// the property's mutation lock. (P21)
    @inline(never)
    internal borrowing func deliverToCombined<Value>(_ change: Change<Value>, of version: UInt64) {
        let lent = LentChange(change)
        walk(.callbacks()) { (observer: borrowing LentObserver<Callback<Change<Value>>>) in
            guard observer.mark.contains(.isCombined), observer.since < version else { return }
            lent.call(observer)
        }
    }

    /// Makes a prior delivery to the observers that asked for it. First the mailboxes receive it,
    /// then the inline callbacks are called, then the serial deliveries run. The caller must hold
    /// no lock.
    @inlinable @inline(__always)
    internal borrowing func deliverPrior<Value>(_ change: Change<Value>) {
        let hasMailboxes = mayHaveMailboxes
        if hasMailboxes { enqueuePrior(change) }
        let lent = LentChange(change)
        walk(.callbacks()) { (observer: borrowing LentObserver<Callback<Change<Value>>>) in
            guard observer.receivesPrior(lent.change.version) else { return }
            lent.call(observer)
        }
        if hasMailboxes { drainMailboxes(of: Change<Value>.self) }
    }

    @inlinable @inline(never)
    internal borrowing func enqueuePrior<Value>(_ change: Change<Value>) {
        walk(.mailboxes()) { (mailbox: borrowing LentMailbox<Change<Value>>) in
            guard mailbox.receivesPrior(change.version) else { return }
            mailbox.withObject { receiver in
                receiver.enqueue(change)
                receiver.wake()
            }
        }
    }
}

extension LentObserver where Content: ~Copyable {
    /// Whether the observer receives the prior delivery of the change that follows `version`.
    @inlinable @inline(__always)
    internal borrowing func receivesPrior(_ version: UInt64) -> Bool {
        return mark.contains(.receivesPrior) && since <= version
    }
}
