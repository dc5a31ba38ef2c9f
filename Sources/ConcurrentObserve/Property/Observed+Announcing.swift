// SPDX-License-Identifier: Apache-2.0

extension Observed {
    /// Calls the observers with a change that has been made. Under no lock. (P1, P2, P15)
    @inlinable @inline(__always)
    internal func announce(_ replaced: borrowing ValueCell<Value>.Replaced, _ new: Value) {
        // An observer that is registered from now on has a later version than this.
        if observers.isPossiblyObserved { deliver(replaced, new) }
    }

    /// Out of line, so that its copies of the values are gone when the replaced one is retired:
    /// then the library destroys it. And so that a caller that is asynchronous never keeps a
    /// thread's address across a suspension.
    @inlinable @inline(never)
    internal func deliver(_ replaced: borrowing ValueCell<Value>.Replaced, _ new: Value) {
        if observers.mayHaveMailboxesOrLinks { return deliverToAllKinds(change(of: replaced, new)) }
        walk(change(of: replaced, new), of: replaced.version)
    }

    /// Compiled once, for changes of any value: it gets the change's address and hands that on to each closure, where
    /// code for one type of value would copy the change for each. The property knows the type, which is not looked for.
    @usableFromInline @inline(never)
    internal func walk(_ change: Change<Value>, of version: UInt64) { observers.deliver(change, of: version) }

    /// Calls the observers with a change of a version, which was put into the mailboxes already. Under no lock.
    @inline(never)
    internal func announce(_ change: Change<Value>, of version: UInt64) {
        if observers.mayHaveMailboxesOrLinks { return deliverToAllKinds(change) }
        if observers.isPossiblyObserved { walk(change, of: version) }
    }

    @inlinable @inline(__always)
    internal func change(of replaced: borrowing ValueCell<Value>.Replaced, _ new: Value) -> Change<Value> {
        return Change(reason: .valueChanged, old: replaced.value, new: new, version: replaced.version)
    }

    /// As `deliver`, with mailboxes, and paths that lead on from here. Out of line: the others keep
    /// nothing for the steps after their walk.
    @inlinable @inline(never)
    internal func deliverToAllKinds(_ change: Change<Value>) {
        let hasMailboxes = observers.mayHaveMailboxes
        let deferred =
            observers.mayHave(ListHints.third) ? observers.relinkPaths(version: change.version) : LinkDeliveries()
        if hasMailboxes { observers.wakeMailboxes(of: Change<Value>.self) }
        deferred.deliver()
        walk(change, of: change.version)
        deferred.deliverLate()
        if hasMailboxes { observers.drainMailboxes(of: Change<Value>.self) }
    }

    /// Delivers a change that is about to be made to the observers that asked for it.
    @inlinable @inline(never)
    internal func announceAhead() {
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
