// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Notices callbacks that run for long, without a clock on the notification path.
///
/// Each look remembers since when a frame has been in the same pass at the same observer. An age is therefore a lower bound: it
/// counts from the first look that saw the callback, and looks happen with every pass of the reclaimer and every reading of the
/// diagnostics.
internal final class CallbackAges: @unchecked Sendable {
    // Unchecked: `seen` is guarded by `lock`.
    static let shared = CallbackAges()

    private struct Sighting {
        var passes: UInt
        var current: UInt
        var since: ContinuousClock.Instant
    }

    private let lock = ForkAwareLock()
    private var seen: [UInt: Sighting] = [:]

    /// Looks at every frame; returns since when the oldest running callback has been seen.
    @discardableResult
    func observe() -> ContinuousClock.Instant? {
        let now = ContinuousClock.now
        return lock.withLock {
            var running: [UInt: Sighting] = [:]
            unsafe ThreadRecords.shared.forEach { record in
                unsafe record.forEachFrame { frame in
                    // Relaxed: a statistic; the addresses are compared, not followed.
                    let current = unsafe frame.pointee.current.load(ordering: .relaxed)
                    guard current != 0 else { return }
                    let passes = unsafe frame.pointee.passes.load(ordering: .relaxed)
                    let frame = UInt(bitPattern: frame)
                    if let known = seen[frame], known.passes == passes, known.current == current {
                        running[frame] = known
                    } else {
                        running[frame] = Sighting(passes: passes, current: current, since: now)
                    }
                }
            }
            seen = running
            return running.values.map(\.since).min()
        }
    }

    func lockForFork() { lock.lockForFork() }
    func unlockAfterFork() { lock.unlockAfterFork() }
}
