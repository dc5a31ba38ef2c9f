// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Runtime

/// The places of calls, which take long to look up, by the addresses of the calls.
internal final class PlaceNames: @unchecked Sendable {
    // Unchecked: `known` is guarded by `lock`.
    private static let shared = PlaceNames()

    private let lock = Lock()
    private var known: [[Backtrace.Address]: String] = [:]

    /// Returns the file and the line that made an observation; nil if nothing is known of it.
    static func place(of made: MadeObservation) -> String? {
        guard let origin = made.recorded?.origin else { return nil }
        let addresses = origin.addresses
        if let place = shared.lock.withLock({ shared.known[addresses] }) { return place }
        guard let place = origin.places().first?.text else { return nil }
        shared.lock.withLock { shared.known[addresses] = place }
        return place
    }
}
