// SPDX-License-Identifier: Apache-2.0

extension Observed {
    /// Calls the observers with a change that was published. The caller must hold no lock. (P1, P2,
    /// P15)
    @inlinable @inline(__always)
    internal func announce(_ replaced: borrowing ValueCell<Value>.Replaced, _ new: Value) {
        // An observer that registers from now on does not receive this change: it begins at this
        // version or at a later one.
        if observers.isPossiblyObserved { deliver(replaced, new) }
    }

    /// Delivers a change that was published. This function is out of line for two reasons. Its
    /// copies of the values are gone when the replaced value is retired, so the library destroys
    /// the last copy. And an asynchronous caller never keeps a thread's address across a
    /// suspension.
    @inlinable @inline(never)
    internal func deliver(_ replaced: borrowing ValueCell<Value>.Replaced, _ new: Value) {
        if observers.mayHaveMailboxesOrLinks { return deliverToAllKinds(change(of: replaced, new)) }
        walk(change(of: replaced, new), of: replaced.version)
    }

    /// Calls the inline observers. This function is compiled once for all types of value, and
    /// passes the change's address to each closure: code for one type would copy the change for
    /// each closure. The property knows the type, so no lookup is needed.
    @usableFromInline @inline(never)
    internal func walk(_ change: Change<Value>, of version: UInt64) { observers.deliver(change, of: version) }

    /// Calls the observers with a change that is in the mailboxes already. The caller must hold no
    /// lock.
    @usableFromInline @inline(never)
    internal func announce(_ change: Change<Value>, of version: UInt64) {
        if observers.mayHaveMailboxesOrLinks { return deliverToAllKinds(change) }
        if observers.isPossiblyObserved { walk(change, of: version) }
    }

    @inlinable @inline(__always)
    internal func change(of replaced: borrowing ValueCell<Value>.Replaced, _ new: Value) -> Change<Value> {
        return Change(reason: .valueChanged, old: replaced.value, new: new, version: replaced.version)
    }

    /// Delivers a change to all kinds of observers: paths and derived values, mailboxes, closures.
    /// This function is out of line, so that a delivery only to closures need not keep anything for
    /// later steps.
    @inlinable @inline(never)
    internal func deliverToAllKinds(_ change: Change<Value>) {
        let hasMailboxes = observers.mayHaveMailboxes
        let deferred = notifyLinks(version: change.version)
        if hasMailboxes { observers.wakeMailboxes(of: Change<Value>.self) }
        deferred.deliver()
        walk(change, of: change.version)
        deferred.deliverLate()
        if hasMailboxes { observers.drainMailboxes(of: Change<Value>.self) }
    }

    /// Relinks the paths that lead through this property. Returns the deliveries to make.
    @inlinable @inline(__always)
    internal func notifyLinks(version: UInt64) -> LinkDeliveries {
        guard observers.mayHave(ListHints.links) else { return LinkDeliveries() }
        return observers.notifyLinks(version: version, isLatest: cell.version == version)
    }

    /// Makes a prior delivery to the observers that asked for it.
    @inlinable @inline(never)
    internal func announceAhead() {
        // Another thread may replace the sampled value. Then its last copy may be destroyed here.
        ThreadRecord.withUserCode {
            let (value, version) = cell.load()
            observers.deliverPrior(Change(reason: .prior, old: nil, new: value, version: version))
        }
    }
}
