// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A probe that one thread announces to the others. Its actions before the announcement happen
/// before the actions of a thread that has seen the probe.
final class Announcement: Sendable {
    private let address = Atomic<UInt>(0)

    /// Release: pairs with the acquire in `seen`.
    func show(_ probe: ProbeReference) { address.store(probe.address, ordering: .releasing) }

    /// Acquire: pairs with the release in `show(_:)`.
    var seen: ProbeReference? { ProbeReference(address: address.load(ordering: .acquiring)) }
}
