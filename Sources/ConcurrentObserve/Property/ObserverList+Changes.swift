// SPDX-License-Identifier: Apache-2.0

extension ObserverList {
    /// Calls every observer that wants to hear it with a change. (P1, P2, P15)
    ///
    /// An observer hears what came after its registration, however late this thread gets here. (P4)
    @inlinable @inline(__always)
    internal borrowing func tell<Value>(_ change: Change<Value>) {
        let lent = LentChange(change)
        walk { observer in
            guard VersionedObserver.receives(lent.change.version, at: observer) else { return }
            let state = Observer.state(at: observer)
            // Links have been called before: see Rewirings. Mailboxes have the change: see Posting.
            if state & (ObserverState.isLink | ObserverState.isOrdered) != 0 {
                if state & ObserverState.isOrdered != 0 { Observer.call(at: observer, with: Posting<Value>.drain) }
                return
            }
            lent.call(observer)
        }
    }

    /// Calls those who asked for it with a change that is still to come.
    @inlinable @inline(__always)
    internal borrowing func tellAhead<Value>(_ change: Change<Value>) {
        let lent = LentChange(change)
        walk { observer in
            let state = Observer.state(at: observer)
            guard VersionedObserver.receivesPrior(lent.change.version, at: observer, state) else { return }
            if state & ObserverState.isOrdered != 0 {
                Observer.call(at: observer, with: Posting.change(lent.change))
                return Observer.call(at: observer, with: Posting<Value>.drain)
            }
            lent.call(observer)
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

    /// Whether the observer at `address` receives the prior delivery of the change after a version.
    @inlinable @inline(__always)
    internal static func receivesPrior(_ version: UInt64, at address: UInt, _ state: UInt32) -> Bool {
        #if INSTRUMENTED
        if let receives = receivesPriorWrongly { return receives }
        #endif
        return state & ObserverState.hearsPrior != 0 && since(at: address) <= version
    }
}
