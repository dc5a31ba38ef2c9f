// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What the closure of a one-way binding keeps: which change of the source has arrived, and how values are made.
///
/// Changes of the source arrive on the threads that made them, and overtake each other. A change is applied if it is later than every
/// one before it, and this is decided under the lock that the destination's changes take: the binding's changes follow each
/// other there as the source's versions do. So the last to be applied is the source's last. (P3)
internal final class OneWayBinding<Source: Sendable, Destination: Sendable>: Edge {
    /// The source, which the observation outlives by nothing. Compared, not followed.
    private let source: ObjectIdentifier
    private let transform: @Sendable (Source) -> Destination
    let keepsValue: Bool

    /// One more than the latest version that has arrived; 0 before the first.
    private let arrived = Atomic<UInt64>(0)

    init(
        from source: Observed<Source>,
        keepsValue: Bool,
        _ transform: @escaping @Sendable (Source) -> Destination
    ) {
        self.source = ObjectIdentifier(source)
        self.keepsValue = keepsValue
        self.transform = transform
    }

    /// Passes a change of the source on to the destination. Any threads at once; waits for nobody but who is changing the destination.
    func pass(_ change: Change<Source>, to destination: Observed<Destination>) {
        // None at the end of the source.
        guard case .some(let value) = change.new else { return }
        let version = change.version
        // Relaxed: a short cut; `arrive` decides.
        if arrived.load(ordering: .relaxed) > version, !mutant("a binding applies an older change") { return }
        let hop = Hop.arriving(at: source, with: change)
        switch hop.passage(through: self, to: ObjectIdentifier(destination)) {
        case .over:
            arrive(version)
        case .onward:
            let early = mutant("a binding decides outside the lock") ? arrive(version) : nil
            destination.receive(transform(value), through: self, from: hop) { _ in early ?? arrive(version) }
        case .around(let since):
            destination.receive(transform(value), through: self, from: hop) { arrive(version) && $0 == since }
        }
    }

    /// Notes that a version has arrived. Whether it is later than all before.
    @discardableResult
    private func arrive(_ version: UInt64) -> Bool {
        // Relaxed: the destination's lock orders those that set it.
        arrived.max(version + 1, ordering: .relaxed).oldValue <= version || mutant("a binding applies an older change")
    }
}
