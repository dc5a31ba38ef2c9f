// SPDX-License-Identifier: Apache-2.0

/// What an observer is called with that delivers changes in the order of their versions, later or elsewhere.
///
/// First, under the lock that all changes of the property take, the change: the observer puts it into its mailbox. Then, under no lock, that
/// it should wake whoever empties the mailbox elsewhere; then, in its turn among the inline callbacks, see to the rest: deliver on this thread,
/// and destroy what was dropped. (P2, P5)
@usableFromInline
internal enum Posting<Value: Sendable> {
    /// Under the property's lock, but for what is told ahead. Runs no user code.
    case change(Change<Value>)
    /// Under no lock. Runs no user code but an executor's.
    case wake
    /// Under no lock. What is delivered or destroyed here may take its time.
    case drain
}

extension ObserverList {
    /// Puts a change into the mailboxes. Under the property's lock.
    @inlinable @inline(never)
    internal borrowing func post<Value>(_ change: Change<Value>) {
        walk { observer in
            guard Observer.state(at: observer) & ObserverState.isOrdered != 0 else { return }
            Observer.call(at: observer, with: Posting.change(change))
        }
    }

    /// Wakes whoever empties mailboxes elsewhere. Under no lock, before any inline callback, and the end of anything that was dropped:
    /// these may block. (P7)
    @inlinable @inline(never)
    internal borrowing func wake<Value: Sendable>(_: Value.Type) {
        walk { observer in
            let state = Observer.state(at: observer)
            guard state & (ObserverState.isOrdered | ObserverState.isSerial) == ObserverState.isOrdered else { return }
            Observer.call(at: observer, with: Posting<Value>.wake)
        }
    }
}

extension Observed {
    /// Publishes a value, and puts the change into the mailboxes. Under the lock.
    @inlinable @inline(__always)
    internal func commit(_ words: Latch.Words, _ new: Value) -> ValueCell<Value>.Replaced {
        let replaced = cell.publish(words)
        if observers.isPossiblyObserved { postUnderLock(replaced, new) }
        return replaced
    }

    @inlinable @inline(__always)
    internal func postUnderLock(_ replaced: borrowing ValueCell<Value>.Replaced, _ new: Value) {
        #if INSTRUMENTED
        if mutant(.aChangeIsEnqueuedOutsideTheLock) { return }
        #endif
        post(replaced, new)
    }

    @inlinable @inline(never)
    internal func post(_ replaced: borrowing ValueCell<Value>.Replaced, _ new: Value) {
        guard observers.mayHaveOrderedObservers else { return }
        observers.post(Change(reason: .valueChanged, old: replaced.value, new: new, version: replaced.version))
    }
}
