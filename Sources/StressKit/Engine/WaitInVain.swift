// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// The time in which a scenario has waited for something that did not come.
///
/// Such a wait ends with a violation, and cannot find another one. So the time that a scenario
/// needs to find a seeded bug is measured without such waits.
package enum WaitInVain {
    private static let start = nanoseconds()
    private static let total = Atomic<UInt64>(0)

    /// The limits of waits are multiplied by this. With a seeded bug most waits reach their limits,
    /// so they are shorter. A run without the bug shows that no other wait reaches a limit.
    package static var factor: Double { hasSeededBug.load(ordering: .relaxed) ? 0.4 : 1 }

    private static let hasSeededBug = Atomic<Bool>(false)

    /// Begins to measure the time. Called once, when the process begins.
    package static func begin(hasSeededBug: Bool = false) {
        _ = start
        // Relaxed: no other thread runs yet.
        self.hasSeededBug.store(hasSeededBug, ordering: .relaxed)
    }

    /// Adds a wait that is over, in nanoseconds. Any thread may call it.
    package static func note(_ duration: UInt64) { total.add(duration, ordering: .relaxed) }  // Relaxed: a statistic.

    /// The text for the report of a violation: when it was found, and how much of that time was
    /// waits.
    package static var text: String {
        // If `begin` was never called, the time is measured from here.
        let start = start
        let found = (nanoseconds() - start) / 1_000_000
        return "  found after \(found) ms, of which \(total.load(ordering: .relaxed) / 1_000_000) ms were waits in vain"
    }

    /// How many seconds a run took to find what its output reports first, without waits; nil if it
    /// does not say so.
    package static func secondsToFind(in output: String) -> Double? {
        guard
            let found = output.firstMatch(of: /found after ([0-9]+) ms, of which ([0-9]+) ms/),
            let after = Double(found.1), let waited = Double(found.2)
        else { return nil }
        return max(0, after - waited) / 1000
    }
}

extension DispatchSemaphore {
    /// Waits for a signal, ten seconds at most, more under a sanitizer, less with a seeded bug.
    ///
    /// - Returns: Whether it came.
    package func waitOrTimeOut() -> Bool {
        let limit = 10 * Double(Sanitizer.slowdown) * WaitInVain.factor
        if wait(timeout: .now() + limit) == .success { return true }
        WaitInVain.note(UInt64(limit * 1_000_000_000))
        return false
    }
}
