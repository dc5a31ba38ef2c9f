// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform
import Synchronization

/// Counts how often threads have released their own magazines, for all threads together. With
/// these counts `drain` finds out that no thread is inside such a release.
///
/// The comment at the top of `ReclamationThread.swift` explains this folder.
internal struct MagazineReleases {
    private(set) var begun: UInt = 0
    private var ended: UInt = 0

    /// Whether no thread was releasing its magazine when `current()` read the counts.
    var isAtRest: Bool { begun == ended }

    /// Reads the counts of all magazines.
    ///
    /// If the caller has seen an effect of a release, the counts include that release. Effects are
    /// that references were claimed, released or handed over.
    static func current() -> MagazineReleases {
        var releases = MagazineReleases()
        unsafe ThreadRecords.shared.forEach { record in
            unsafe record.forMagazine { magazine in
                // Acquire: pairs with the release in Magazine.release(handOver:). It is read first,
                // so that it is never larger than the number begun.
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
                // Acquire: as in current(); references that were handed over are on their thread's
                // stack. Both numbers only grow, and `releasesBegun` is larger by at most one.
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
