// SPDX-License-Identifier: Apache-2.0

// A *link* of a path is a step before the last one, and the *leaf* is the end of the path at its
// last property. Properties *on the way* are those of the links. The comment at the top of
// `Path.swift` explains this folder.

import Synchronization

extension PathObservation {
    /// Brings the path up to date: ends it if needed, and relinks it below links that have changed.
    /// If another thread is doing that, leaves the work to that thread.
    ///
    /// - Parameter deferred: Receives the deliveries to the path's observer.
    func settle(_ deferred: inout LinkDeliveries) {
        var round = Round()
        var rounds = 0
        while loop.enter() {
            endIfNeeded(&round)
            relink(&round, in: deferred.cause)
            guard loop.leave() else { break }
            rounds += 1
            // This thread must not serve the others forever: it has its own changes to deliver.
            if rounds == Self.mostRounds {
                ThreadRecord.retire(DeferredAction(for: self) { [self] in settle() })
                break
            }
        }
        round.release(for: self, &deferred)
        guard !round.changes.isEmpty || round.endings > 0 else { return }
        receiver?.wake()
        let delivery = { [self, changes = round.changes, endings = round.endings] in
            receiver?.drain()
            for (change, scope) in changes {
                if receiver == nil { deliver(change, in: scope) }
                finishOne()
            }
            for _ in 0..<endings { finishOne() }
        }
        deferred.add(receiver != nil ? .serial(delivery) : round.isLate ? .late(delivery) : .path(delivery))
    }

    /// Brings the path up to date, and makes the deliveries at once. The caller must hold no lock.
    func settle() {
        var deferred = LinkDeliveries()
        settle(&deferred)
        deferred.releaseKept()
        deferred.deliver()
        deferred.deliverLate()
    }

    /// The number of rounds after which a thread leaves the path to a thread of the library.
    private static var mostRounds: Int { 8 }

    /// The work that remains to be done outside the drain loop.
    struct Round {
        /// The changes to deliver, each in its scope. Each delivery is followed by one call of
        /// `finishOne`.
        var changes: [(change: Change<Value>, scope: DeliveryScope?)] = []
        /// The number of further calls of `finishOne` that are due.
        var endings = 0
        /// Whether this thread may still deliver a change of the last property that comes before
        /// `changes`.
        var isLate = false
        /// The root's property, and referents of weak properties. They are kept only until the
        /// paths are relinked. (P11)
        var brief: [AnyObject] = []
        /// All other objects and properties that were found on the way. These may be the last
        /// references: their release may run user code and notify observers.
        var kept: [AnyObject] = []

        /// Keeps an object that `step` led to.
        mutating func keep(_ object: PathObject, of step: PathLink) {
            if step.isWeak { brief.append(object) } else { kept.append(object) }
        }

        /// Releases the objects in `brief` and `kept`. The caller must have left the drain loop. A
        /// thread of the library releases the objects in `kept`, because the release of a last
        /// reference may take long. (P5)
        ///
        /// - Parameter deferred: Takes over the objects in `brief`, and releases them when all
        ///   paths are relinked. Their release may run user code and notify observers, and these
        ///   then see the relinked paths. (P7)
        mutating func release(for path: AnyObject, _ deferred: inout LinkDeliveries) {
            deferred.keep(&brief)
            if !kept.isEmpty { ThreadRecord.retire(DeferredAction(for: path, releasing: &kept)) }
        }
    }

    /// Relinks the path below every link that has changed. The caller must be in the drain loop.
    private func relink(_ round: inout Round, in scope: DeliveryScope?) {
        var index = 0
        while index < links.count, !hasEnded {
            guard let property = held(links[index].property, isRoot: index == 0, &round) else { break }
            let (object, seen) = links[index].step.sample(property)
            if let object { round.keep(object, of: links[index].step) }
            guard seen != links[index].seen else {
                index += 1
                continue
            }
            let cause = links[index].cause(of: seen, in: scope)
            let old = cut(below: index, &round)
            links[index].seen = seen
            version = old.version &+ 1
            let new = link(below: index, to: object, &round)
            pending.add(1, ordering: .relaxed)  // Relaxed: as in attach(to:isRoot:).
            let change = Change(reason: .pathChanged(depth: index), old: old.value, new: new, version: version)
            // Enqueued before later versions, which wait for this one, and before `finishOne`, so
            // that the end comes after it.
            receiver?.enqueue(change)
            round.changes.append((change, self.scope(of: version, becauseOf: cause)))
            index += 1
        }
    }
}
