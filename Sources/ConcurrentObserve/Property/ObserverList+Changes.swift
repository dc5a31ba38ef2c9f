// SPDX-License-Identifier: Apache-2.0

extension ObserverList {
    /// Calls every observer that wants to hear it with a change. (P1, P2, P15)
    ///
    /// An observer hears what came after its registration, however late this thread gets here. (P4)
    @inlinable @inline(__always)
    internal borrowing func tell<Value>(_ change: Change<Value>) {
        var forms = ChangeForms(change)
        walk { observer in
            guard
                VersionedObserver.since(at: observer) < forms.full.change.version
                    || mutant("an earlier change is delivered")
            else { return }
            let state = Observer.state(at: observer)
            // Links have been called before: see Rewirings. Mailboxes have the change: see Posting.
            if state & (ObserverState.isLink | ObserverState.isOrdered) != 0 {
                if state & ObserverState.isOrdered != 0 { Observer.call(at: observer, with: Posting<Value>.attend) }
                return
            }
            forms.call(observer, state: state)
        }
    }

    /// Calls those who asked for it with a change that is still to come.
    @inlinable @inline(__always)
    internal borrowing func tellAhead<Value>(_ change: Change<Value>) {
        var forms = ChangeForms(change)
        walk { observer in
            let state = Observer.state(at: observer)
            guard state & ObserverState.hearsPrior != 0,
                VersionedObserver.since(at: observer) <= forms.full.change.version,
                !mutant("a change is not told ahead")
            else { return }
            if state & ObserverState.isOrdered != 0 {
                Observer.call(at: observer, with: Posting.change(forms.full.change))
                return Observer.call(at: observer, with: Posting<Value>.attend)
            }
            forms.call(observer, state: state)
        }
    }

    /// Calls every live observer with the source's end, and ends its observation: each once, and none that was ended before its
    /// turn. (P6, P12)
    internal borrowing func tellEnd<Value>(_ change: Change<Value>) {
        var forms = ChangeForms(change)
        walk { address in
            let observer = Observer.at(address)
            // Whoever ends the observation decides whether this is heard; the frame keeps the closure.
            inject("death.turn")
            guard observer.core.unlink(observer, .sourceDeleted) else { return }
            let state = Observer.state(at: address)
            if state & ObserverState.isLink != 0 {
                // As in rewirePaths(version:).
                Observer.call(at: address, with: change.reason)
            } else if state & ObserverState.isOrdered != 0 {
                Observer.call(at: address, with: Posting.change(change))
                Observer.call(at: address, with: Posting<Value>.attend)
            } else {
                forms.call(address, state: state)
                if mutant("a property's end is told twice") { forms.call(address, state: state) }
                if mutant("a property's end is not the last") {
                    var late = ChangeForms(
                        Change(reason: .valueChanged, old: change.old, new: change.old, version: change.version &+ 1)
                    )
                    late.call(address, state: state)
                }
            }
            if mutant("a property's death leaks the closures") { return }
            ThreadRecord.retire(observer, isOneOfMany: true)
        }
    }
}
