// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// Measures the time in which a scenario has waited for an event that did not come.
///
/// Such a wait ends with a violation, and cannot find another one. The time that a scenario needs
/// to find a seeded bug is therefore measured without such waits.
package enum WaitInVain {
    private static let start = nanoseconds()
    private static let total = Atomic<UInt64>(0)

    /// The factor for the limits of waits. With a seeded bug most waits reach their limits, so the
    /// limits are shorter. A run without the bug shows that no other wait reaches its limit.
    package static var factor: Double { hasSeededBug.load(ordering: .relaxed) ? 0.4 : 1 }

    private static let hasSeededBug = Atomic<Bool>(false)

    /// Begins to measure the time. Called once, when the process begins.
    package static func begin(hasSeededBug: Bool = false) {
        _ = start
        // Relaxed: no other thread runs yet.
        self.hasSeededBug.store(hasSeededBug, ordering: .relaxed)
    }

    /// Adds the duration of a wait that is over, in nanoseconds. Any thread may call it.
    package static func note(_ duration: UInt64) { total.add(duration, ordering: .relaxed) }  // Relaxed: a statistic.

    /// The text for the report of a violation: the time until it was found, and the part of this
    /// time that was spent in such waits.
    package static var text: String {
        // If `begin` was never called, the time is measured from here.
        let start = start
        let found = (nanoseconds() - start) / 1_000_000
        return "  found after \(found) ms, of which \(total.load(ordering: .relaxed) / 1_000_000) ms were waits in vain"
    }

    /// Returns the number of seconds until a run found its first violation, without such waits, as
    /// its output reports it. Returns nil if the output does not have it.
    package static func secondsToFind(in output: String) -> Double? {
        guard
            let found = output.firstMatch(of: /found after ([0-9]+) ms, of which ([0-9]+) ms/),
            let after = Double(found.1), let waited = Double(found.2)
        else { return nil }
        return max(0, after - waited) / 1000
    }
}

extension DispatchSemaphore {
    /// Waits for a signal, at most ten seconds. The limit is longer under a sanitizer, and shorter
    /// with a seeded bug.
    ///
    /// - Returns: Whether the signal came.
    package func waitOrTimeOut() -> Bool {
        let limit = 10 * Double(Sanitizer.slowdown) * WaitInVain.factor
        if wait(timeout: .now() + limit) == .success { return true }
        WaitInVain.note(UInt64(limit * 1_000_000_000))
        return false
    }
}
