// SPDX-License-Identifier: Apache-2.0

extension Observed {
    /// Calls the observers with a change that has been made. Under no lock. (P1, P2, P15)
    @inlinable @inline(__always)
    internal func announce(_ replaced: borrowing ValueCell<Value>.Replaced, _ new: Value) {
        // An observer that is registered from now on has a later version than this.
        if observers.hasBeenObserved { deliver(replaced, new) }
    }

    /// Out of line, so that its copies of the values are gone when the replaced one is retired:
    /// then the library destroys it. And so that a caller that is asynchronous never keeps a
    /// thread's address across a suspension.
    @inlinable @inline(never)
    internal func deliver(_ replaced: borrowing ValueCell<Value>.Replaced, _ new: Value) {
        #if INSTRUMENTED
        if mutant(.aChangeIsEnqueuedOutsideTheLock) { enqueue(replaced, new) }
        #endif
        if observers.mayHaveLinks { return deliverAlongPaths(replaced, new) }
        let hasMailboxes = observers.mayHaveMailboxes
        if hasMailboxes { observers.wakeMailboxes(of: Change<Value>.self) }
        observers.deliver(change(of: replaced, new))
        if hasMailboxes { observers.drainMailboxes(of: Change<Value>.self) }
    }

    @inlinable @inline(__always)
    internal func change(of replaced: borrowing ValueCell<Value>.Replaced, _ new: Value) -> Change<Value> {
        #if INSTRUMENTED
        if mutant(.oldAndNewAreSwapped) {
            return Change(reason: .valueChanged, old: new, new: replaced.value, version: replaced.version)
        }
        #endif
        return Change(reason: .valueChanged, old: replaced.value, new: new, version: replaced.version)
    }

    /// As `deliver`, with paths that lead on from here. Out of line: few properties have some, and
    /// the others pay nothing for it.
    @inlinable @inline(never)
    internal func deliverAlongPaths(_ replaced: borrowing ValueCell<Value>.Replaced, _ new: Value) {
        let deferred = observers.relinkPaths(version: replaced.version)
        let hasMailboxes = observers.mayHaveMailboxes
        if hasMailboxes { observers.wakeMailboxes(of: Change<Value>.self) }
        deferred.deliver()
        observers.deliver(
            Change(reason: .valueChanged, old: replaced.value, new: new, version: replaced.version)
        )
        deferred.deliverLate()
        if hasMailboxes { observers.drainMailboxes(of: Change<Value>.self) }
    }

    /// Delivers a change that is about to be made to the observers that asked for it.
    @inlinable @inline(never)
    internal func announceAhead() {
        guard observers.mayHavePriorObservers else { return }
        // The sampled value may be replaced meanwhile, and its last copy be the one that is
        // destroyed here.
        ThreadRecord.withUserCode { deliverAhead() }
    }

    @inlinable @inline(never)
    internal func deliverAhead() {
        let (value, version) = cell.load()
        observers.deliverPrior(Change(reason: .prior, old: nil, new: value, version: version))
    }
}
