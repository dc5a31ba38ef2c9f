// SPDX-License-Identifier: Apache-2.0

import CReference
import ConcurrentObserve

/// A registry that several threads notify at once. Its observers add to a tally of the calling
/// thread.
final class TallyingRegistry: Sendable {
    private let registry = ObserverRegistry<Int>()
    private let tokens: [ObservationToken]

    init(_ count: Int = 1) {
        tokens = (0..<count).map { [registry] _ in registry.observe { event in creference_tally(event) } }
    }

    @inline(never)
    func notify(_ events: Int) {
        for event in 0..<events { registry.notify(event) }
    }
}
