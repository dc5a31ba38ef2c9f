// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// The state of a one-way binding, which its closure retains: the latest change of the source that
/// has arrived, and the transform.
///
/// Changes of the source arrive on the threads that made them, and overtake each other. A change is
/// applied if its version is later than all versions that arrived before it. The binding decides
/// this under the destination's mutation lock, and therefore changes the destination in the order
/// of the source's versions. The last change that is applied is the source's last. (P3)
@usableFromInline
internal final class OneWayBinding<Source: Sendable, Destination: Sendable>: Sendable {
    @usableFromInline let transform: @Sendable (Source) -> Destination
    @usableFromInline let keepsValue: Bool

    /// One more than the latest version of the source that has arrived; 0 before the first version.
    /// It is written under the destination's mutation lock.
    @usableFromInline let arrived: Atomic<UInt64>

    /// One more than the latest version of the source that the binding did not pass on, because the
    /// change had come back through a cycle of bindings; 0 if there is none. It is written without
    /// the lock, so the thread that delivers the change waits for no other thread.
    @usableFromInline let known: Atomic<UInt64>

    @inlinable
    init(keepsValue: Bool, _ transform: @escaping @Sendable (Source) -> Destination) {
        self.keepsValue = keepsValue
        self.transform = transform
        arrived = Atomic(0)
        known = Atomic(0)
    }

    /// Makes the closure of the binding. It does not retain the destination, to which `owner`
    /// refers weakly.
    @inlinable
    func callback(to destination: Observed<Destination>, _ owner: WeakReference) -> CallbackForm<Change<Source>> {
        return .made { observer in
            let (source, address) = (observer.sourceIdentity, observer.address)
            // No tally: an inline observer has no counts.
            let callback = Callback.bound(to: owner, of: observer, nil) {
                (destination: Observed<Destination>, change: Change<Source>) in
                self.pass(change, of: source, to: destination, by: address)
            }
            return callback.body
        }
    }

    /// Passes a change of `source` on to the destination. Several threads may call it at once. It
    /// waits only for a thread that is changing the destination.
    ///
    /// - Parameter observer: The address of the binding's observer, which the caller is calling:
    ///   the hazard pointer `current` of the caller's frame names it.
    @inlinable
    func pass(
        _ change: Change<Source>,
        of source: SourceIdentity,
        to destination: Observed<Destination>,
        by observer: UInt
    ) {
        let (value, version) = (change.new, change.version)
        // Relaxed: a short cut; `arrive` decides under the destination's mutation lock.
        if arrived.load(ordering: .relaxed) > version { return }
        let arrival = DeliveryScope.arrival(version, of: source, isInitial: change.reason == .initial)
        let edge = Edge(self, keepsValue: keepsValue, isOfPair: false)
        switch arrival.decision(through: edge, to: destination.observers.identity) {
        case .over:
            // Relaxed: nothing else is read because of it. A change that is decided at the same
            // moment may come before it or after it.
            known.max(version + 1, ordering: .relaxed)
        case .onward:
            destination.receive(transform(value), through: edge, from: arrival) { _ in
                arrive(version, by: observer)
            }
        case .around(let since):
            destination.receive(transform(value), through: edge, from: arrival) { present in
                arrive(version, by: observer) && present == since
            }
        }
    }

    /// Records that a version of the source has arrived, and returns true. Returns false, and
    /// records nothing, if the version is not later than all versions that have arrived. Also
    /// returns false if the binding was cancelled: then another binding may have passed on later
    /// changes. The caller must hold the destination's mutation lock.
    @inlinable
    func arrive(_ version: UInt64, by observer: UInt) -> Bool {
        // The hazard pointer `current` of the caller's frame names the observer. Under the lock the
        // caller sees every cancellation that came before another binding's change of the
        // destination.
        if Observer.isRemoved(at: observer) { return false }
        // Relaxed, all: `arrived` is guarded by the destination's mutation lock; for `known` see
        // pass(_:of:to:by:).
        if max(arrived.load(ordering: .relaxed), known.load(ordering: .relaxed)) > version { return false }
        arrived.store(version + 1, ordering: .relaxed)
        return true
    }
}
