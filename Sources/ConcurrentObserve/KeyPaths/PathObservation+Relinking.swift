// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension PathObservation {
    /// Brings the path up to date after a change of one of its links, unless another thread is at it, which will.
    ///
    /// - Parameter deferred: Receives what its observer is to be notified of; nil: that is done at once.
    func settle(_ deferred: DeferredDeliveries? = nil) {
        var round = Round()
        var rounds = 0
        while loop.enter() {
            endIfNeeded(&round)
            relink(&round)
            guard loop.leave() else { break }
            rounds += 1
            // This thread does not serve the others for ever: it has changes of its own to deliver.
            if rounds == Self.mostRounds {
                handOn()
                break
            }
        }
        round.release(for: self, deferred)
        guard !round.changes.isEmpty || round.endings > 0 else { return }
        receiver?.wake()
        let delivery = { [self, changes = round.changes, endings = round.endings] in
            receiver?.drain()
            for (change, relayed) in changes {
                if receiver == nil { deliver(change, as: relayed) }
                finishOne()
            }
            for _ in 0..<endings { finishOne() }
        }
        guard let deferred else { return delivery() }
        if receiver == nil { deferred.add(isLate: round.isLate, delivery) } else { deferred.addSerial(delivery) }
    }

    /// So often in a row one thread relinks the path.
    private static var mostRounds: Int { 8 }

    /// What is left to do when the drain loop is left.
    struct Round {
        /// To be delivered, each with a `finishOne`, and with what is known of it.
        var changes: [(change: Change<Value>, relayed: RelayedChange?)] = []
        /// How many more of `finishOne` are owed.
        var endings = 0
        /// Whether a change of the last property may be delivered on this thread that comes before
        /// them.
        var isLate = false
        /// The root's property, and referents of weak ones: not kept for longer than paths are
        /// relinked. (P11)
        var brief: [AnyObject] = []
        /// What else was on the way, or is, or has been looked at. This may be all that keeps it: its end is user code, and what observes it.
        var kept: [AnyObject] = []

        /// Keeps an object to which a step has led.
        mutating func keep(_ object: PathObject, of step: PathLink) {
            if step.isWeak { brief.append(object) } else { kept.append(object) }
        }

        /// Outside the drain loop. What is kept is released elsewhere: it may be the last to go, and take its time. (P5)
        ///
        /// - Parameter deferred: While a change relinks paths, it takes over what is kept briefly:
        ///   an end is user code, and notifies others. It finds all paths relinked. (P7)
        mutating func release(for path: AnyObject, _ deferred: DeferredDeliveries?) {
            if let deferred { deferred.keep(&brief) } else { brief = [] }
            if !kept.isEmpty { ThreadRecord.retire(DeferredAction(for: path, releasing: &kept)) }
        }
    }

    /// Relinks the path below every link that has changed. Inside the drain loop.
    private func relink(_ round: inout Round) {
        var index = 0
        while index < links.count, !hasEnded {
            guard let property = held(links[index].property, isRoot: index == 0, &round) else { break }
            let (object, seen) = links[index].step.sample(property)
            if let object { round.keep(object, of: links[index].step) }
            guard seen != links[index].seen else {
                index += 1
                continue
            }
            let cause = links[index].cause(of: seen)
            let old = cut(below: index, &round)
            links[index].seen = seen
            version = old.version &+ 1
            let new = link(below: index, to: object, &round)
            pending.add(1, ordering: .relaxed)  // Relaxed: as in attach(to:isRoot:).
            let change = Change(reason: .pathChanged(depth: index), old: old.value, new: new, version: version)
            // Now: later versions wait for it. Before the count is given back: the end comes after it.
            receiver?.enqueue(change)
            round.changes.append((change, relayed(version, becauseOf: cause)))
            index += 1
        }
    }

    /// Leaves the path to a thread of the library.
    private func handOn() {
        ThreadRecord.retire(DeferredAction(for: self) { [self] in settle() })
    }
}
