// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How often threads have released their own magazines, all together.
internal struct MagazineReleases {
    private(set) var begun: UInt = 0
    private var ended: UInt = 0

    /// Whether no thread was releasing its magazine at the moment of the look.
    var isAtRest: Bool { begun == ended }

    /// Looks at all magazines.
    ///
    /// It sees every release that the caller has seen the claim of, or what came of it.
    static func current() -> MagazineReleases {
        var releases = MagazineReleases()
        unsafe ThreadRecords.shared.forEach { record in
            unsafe record.forMagazine { magazine in
                // Acquire: pairs with the release in Magazine.release(handOver:). First, so that it
                // is never more than what has begun.
                releases.ended &+= unsafe magazine.pointee.releasesEnded.load(ordering: .acquiring)
                // Relaxed: the exchange of the claim orders it.
                releases.begun &+= unsafe magazine.pointee.releasesBegun.load(ordering: .relaxed)
            }
        }
        return releases
    }

    /// Waits until every release that has begun has ended.
    ///
    /// - Returns: False if the deadline came first.
    static func wait(until deadline: ContinuousClock.Instant?) -> Bool {
        var hasEnded = true
        unsafe ThreadRecords.shared.forEach { record in
            unsafe record.forMagazine { magazine in
                // Relaxed: as in current().
                let begun = unsafe magazine.pointee.releasesBegun.load(ordering: .relaxed)
                var wait = Backoff()
                // Acquire: as in current(); what was handed over is on its thread's stack. They
                // count up, by one at most ahead of each other.
                while hasEnded, unsafe begun != magazine.pointee.releasesEnded.load(ordering: .acquiring),
                    unsafe begun == magazine.pointee.releasesBegun.load(ordering: .relaxed)
                {
                    if let deadline, ContinuousClock.now >= deadline { hasEnded = false }
                    wait.pause()
                }
            }
        }
        return hasEnded
    }
}
