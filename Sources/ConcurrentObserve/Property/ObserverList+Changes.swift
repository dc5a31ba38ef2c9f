// SPDX-License-Identifier: Apache-2.0

extension ObserverList {
    /// Calls every inline observer with a change. (P1, P2, P15)
    ///
    /// An observer receives what came after its registration, however late this thread gets here.
    /// (P4)
    @inlinable @inline(__always)
    internal borrowing func deliver<Value>(_ change: Change<Value>) {
        let lent = LentChange(change)
        walk(.callbacks()) { (observer: borrowing LentObserver<Callback<Change<Value>>>) in
            guard VersionedObserver.receives(lent.change.version, at: observer.address) else { return }
            lent.call(observer)
        }
    }

    /// Calls the inline observers that are the library's, of properties that are observed together. Under the property's lock. (P21)
    @inline(never)
    internal borrowing func deliverToCombinations<Value>(_ change: Change<Value>) {
        let lent = LentChange(change)
        walk(.callbacks()) { (observer: borrowing LentObserver<Callback<Change<Value>>>) in
            guard observer.mark.contains(.isCombined), observer.since < lent.change.version else { return }
            lent.call(observer)
        }
    }

    /// Delivers a change that is still to come to the observers that have asked for it: first to
    /// the mailboxes, then to the inline callbacks, then the serial deliveries run. Under no lock.
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

extension VersionedObserver {
    /// Whether the observer at `address` receives the change of a version: it began before.
    @inlinable @inline(__always)
    internal static func receives(_ version: UInt64, at address: UInt) -> Bool {
        #if INSTRUMENTED
        if mutant(.anEarlierChangeIsDelivered) { return true }
        #endif
        return since(at: address) < version
    }
}

extension LentObserver where Content: ~Copyable {
    /// Whether the observer receives the prior delivery of the change after a version.
    @inlinable @inline(__always)
    internal borrowing func receivesPrior(_ version: UInt64) -> Bool {
        #if INSTRUMENTED
        if let receives = VersionedObserver.receivesPriorWrongly { return receives }
        #endif
        return mark.contains(.receivesPrior) && since <= version
    }
}
