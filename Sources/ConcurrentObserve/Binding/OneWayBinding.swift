// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// What the closure of a one-way binding keeps: which change of the source has arrived, and how values are made.
///
/// Changes of the source arrive on the threads that made them, and overtake each other. A change is applied if it is later than every
/// one before it, and this is decided under the lock that the destination's changes take: the binding's changes follow each
/// other there as the source's versions do. So the last to be applied is the source's last. (P3)
@usableFromInline
internal final class OneWayBinding<Source: Sendable, Destination: Sendable>: Sendable {
    @usableFromInline let transform: @Sendable (Source) -> Destination
    @usableFromInline let keepsValue: Bool

    /// One more than the latest version that has arrived; 0 before the first. Written under the destination's lock.
    @usableFromInline let arrived: Atomic<UInt64>

    /// One more than the latest version that the destination had already, when it came round a cycle. Written without the lock: the
    /// thread that brings it waits for no other.
    @usableFromInline let known: Atomic<UInt64>

    @inlinable
    init(keepsValue: Bool, _ transform: @escaping @Sendable (Source) -> Destination) {
        self.keepsValue = keepsValue
        self.transform = transform
        arrived = Atomic(0)
        known = Atomic(0)
    }

    /// The closure of a binding that does not retain its destination.
    @inlinable
    func callback(to destination: Observed<Destination>, _ owner: WeakReference) -> CallbackForm<Change<Source>> {
        return .made { observer in
            let (source, address) = (observer.sourceIdentity, observer.address)
            // Inline: nothing is counted.
            let callback = Callback.bound(to: owner, of: observer, nil) {
                (destination: Observed<Destination>, change: Change<Source>) in
                self.pass(change, of: source, to: destination, by: address)
            }
            return callback.body
        }
    }

    /// Passes a change of `source` on to the destination. Any threads at once; waits only for a thread that is changing the destination.
    ///
    /// - Parameter observer: The address of the observer that is called: it is held meanwhile.
    @inlinable
    func pass(
        _ change: Change<Source>,
        of source: SourceIdentity,
        to destination: Observed<Destination>,
        by observer: UInt
    ) {
        let (value, version) = (change.new, change.version)
        if isOutdated(version) { return }
        let arrival = Arrival(version, of: source, change.commitNumber, isInitial: change.reason == .initial)
        let edge = Edge(self, keepsValue: keepsValue, isOfPair: false)
        switch arrival.decision(through: edge, to: destination.observers.identity) {
        case .over:
            noteKnown(version)
        case .onward:
            pass(transform(value), version, to: destination, through: edge, from: arrival, by: observer)
        case .around(let since):
            let claim = Claim(self, version, by: observer, since: since)
            destination.receive(transform(value), through: edge, from: arrival, by: observer, if: claim)
        }
    }

    /// Whether the destination is still at the version that the same change has made, or that it
    /// was made of.
    @inlinable
    func isStill(_ since: UInt64, _ present: UInt64) -> Bool {
        return present == since
    }

    @inlinable
    func pass(
        _ value: Destination,
        _ version: UInt64,
        to destination: Observed<Destination>,
        through edge: Edge,
        from arrival: Arrival,
        by observer: UInt
    ) {
        let claim = Claim(self, version, by: observer, since: nil)
        destination.receive(value, through: edge, from: arrival, by: observer, if: claim)
    }

    /// Whether a later version has arrived.
    @inlinable
    func isOutdated(_ version: UInt64) -> Bool {
        // Relaxed: a short cut; `arrive` decides.
        return arrived.load(ordering: .relaxed) > version
    }

    /// Notes that a version has arrived. Whether it is later than all before, and the binding was not cancelled: another one may have
    /// passed on what came afterwards. Under the destination's lock.
    @inlinable
    func arrive(_ version: UInt64, by observer: UInt) -> Bool {
        if isCancelled(observer) { return false }
        // Relaxed, all: under the lock; for `known` see there.
        if max(arrived.load(ordering: .relaxed), known.load(ordering: .relaxed)) > version { return false }
        arrived.store(version + 1, ordering: .relaxed)
        return true
    }

    /// Notes that the destination had this version already: it has come round a cycle.
    @inlinable
    func noteKnown(_ version: UInt64) {
        // Relaxed: as `arrived`; a change that is decided at the same moment may be before it or after.
        known.max(version + 1, ordering: .relaxed)
    }

    /// Under the destination's lock: who has cancelled before another binding changed the destination is seen.
    @inlinable
    func isCancelled(_ observer: UInt) -> Bool {
        // The caller's frame holds the observer.
        return Observer.isRemoved(at: observer)
    }
}
