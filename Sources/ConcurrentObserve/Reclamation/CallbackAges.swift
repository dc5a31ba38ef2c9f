// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Notices callbacks that run for long, without a clock on the notification path.
///
/// Each look remembers since when a frame has been in the same pass at the same observer. An age is
/// therefore a lower bound: it counts from the first look that saw the callback. Looks happen with
/// every reclamation pass, with every reading of the diagnostics, and once a second while the
/// reclamation thread sleeps.
internal final class CallbackAges: @unchecked Sendable {
    // Unchecked: `seen` is guarded by `lock`.
    static let shared = CallbackAges()

    /// One callback that was found running: the pass of a frame, and the address of the observer
    /// that it calls.
    struct Sighting: Hashable {
        let frame: UInt
        let passes: UInt
        let current: UInt
    }

    /// How long the reclamation thread sleeps between two looks when it has nothing else to do; nil
    /// where the explorer decides what happens.
    static var pause: Duration? {
        return .seconds(1)
    }

    private let lock = ForkAwareLock()
    private var seen: [UInt: (sighting: Sighting, since: ContinuousClock.Instant)] = [:]

    /// Looks at every frame; returns since when the oldest running callback has been seen.
    @discardableResult
    func observe() -> ContinuousClock.Instant? { look().map(\.since).min() }

    /// Looks at every frame; returns what is running, and since when it has been seen.
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

    /// The callback that the frame is in, if any.
    private func sighting(in frame: UnsafeMutablePointer<Frame>) -> Sighting? {
        // Safe: frames are never freed. Relaxed, both: a statistic; the addresses are compared, not
        // followed.
        let current = unsafe frame.pointee.current.load(ordering: .relaxed)
        guard current != 0 else { return nil }
        let passes = unsafe frame.pointee.passes.load(ordering: .relaxed)
        return Sighting(frame: UInt(bitPattern: frame), passes: passes, current: current)
    }

    func lockForFork() { lock.lockForFork() }
    func unlockAfterFork() { lock.unlockAfterFork() }
}
