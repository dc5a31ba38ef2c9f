// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform
import Synchronization

/// Finds callbacks that run for a long time. A notification reads no clock for this.
///
/// Each scan reads the frames of all threads: see `Frame`. For each frame it records which observer
/// the frame's pass is calling, and when a scan first saw this call. An age is therefore a lower
/// bound: it counts from the first scan that saw the callback. The library scans with every
/// reclamation pass that has items, with every reading of the diagnostics, and once a second while
/// the reclamation thread sleeps.
internal final class CallbackAges: @unchecked Sendable {
    // Unchecked: `seen` is guarded by `lock`.
    static let shared = CallbackAges()

    /// One running callback: the frame, its pass, and the address of the observer that it calls.
    struct Sighting: Hashable {
        let frame: UInt
        let passes: UInt
        let current: UInt
    }

    /// The time for which the reclamation thread sleeps between two scans when it has no other
    /// work. Nil means that it sleeps without a limit. It is nil only in the instrumented copy of
    /// the library, if the explorer of that copy schedules the threads.
    static var pause: Duration? {
        return .seconds(1)
    }

    private let lock = Lock()
    private var seen: [UInt: (sighting: Sighting, since: ContinuousClock.Instant)] = [:]

    /// Scans every frame. Returns the instant at which the oldest running callback was first seen;
    /// nil if no callback is running.
    @discardableResult
    func observe() -> ContinuousClock.Instant? { look().map(\.since).min() }

    /// Scans every frame. Returns the running callbacks, each with the instant at which it was
    /// first seen.
    func look() -> [(sighting: Sighting, since: ContinuousClock.Instant)] {
        let now = ContinuousClock.now
        return lock.withLock {
            var running: [UInt: (sighting: Sighting, since: ContinuousClock.Instant)] = [:]
            unsafe ThreadRecords.shared.forEach { record in
                unsafe record.forEachFrame { frame in
                    guard let sighting = unsafe sighting(in: frame) else { return }
                    let known = seen[sighting.frame]
                    running[sighting.frame] = (sighting, known?.sighting == sighting ? known!.since : now)
                }
            }
            seen = running
            return Array(running.values)
        }
    }

    /// Returns the callback that the frame's pass is running; nil if it runs none.
    private func sighting(in frame: UnsafeMutablePointer<Frame>) -> Sighting? {
        // Safe: frames are never freed. Relaxed, both: a statistic. This code only compares the
        // addresses.
        let current = unsafe frame.pointee.current.address.load(ordering: .relaxed)
        guard current != 0 else { return nil }
        let passes = unsafe frame.pointee.passes.load(ordering: .relaxed)
        return Sighting(frame: UInt(bitPattern: frame), passes: passes, current: current)
    }
}
