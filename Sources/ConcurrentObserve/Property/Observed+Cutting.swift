// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Observed {
    /// Stores the present version in `limit`, and returns it with its value. No change is published
    /// in between, so every delivery of a later version finds the limit. It serves observers of the
    /// library's own, which end at a version.
    ///
    /// - Returns: Nil if the limit has been set before, by a commit.
    internal func cut(at limit: borrowing Atomic<UInt64>) -> (value: Value, version: UInt64)? {
        mutation.withPublicationHeld(cell.latch.owner) {
            // Relaxed: as below.
            guard limit.load(ordering: .relaxed) == .max else { return nil }
            let present = cell.load()
            // Relaxed: ordered before every later change by `lock`, or, beside a body, by
            // `bodyLock`, which the body's thread finds free before it publishes.
            limit.store(present.version, ordering: .relaxed)
            return present
        }
    }
}
