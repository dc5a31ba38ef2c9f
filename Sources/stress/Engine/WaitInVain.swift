// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// The time in which a scenario has waited for something that did not come.
///
/// Such a wait shows a violation, and is no further chance to find one: how soon a scenario meets a seeded bug is measured without it.
enum WaitInVain {
    private static let total = Atomic<UInt64>(0)

    /// Counts a wait of so many nanoseconds that is over. Any thread.
    static func note(_ duration: UInt64) { total.add(duration, ordering: .relaxed) }  // Relaxed: a statistic.

    /// What a report of a violation says of it; nil where no wait was in vain.
    static var text: String? {
        let total = total.load(ordering: .relaxed)
        return total == 0 ? nil : "  waited in vain for \(total / 1_000_000) ms"
    }

    /// The seconds that the last report in the output of a run names.
    static func seconds(in output: String) -> Double {
        output.matches(of: /waited in vain for ([0-9]+) ms/).last.flatMap { Double($0.1) }.map { $0 / 1000 } ?? 0
    }
}

extension DispatchSemaphore {
    /// Waits for a signal, ten seconds at most, more under a sanitizer.
    ///
    /// - Returns: Whether it came.
    func waitOrGiveUp() -> Bool {
        let limit = 10 * Sanitizer.slowdown
        if wait(timeout: .now() + Double(limit)) == .success { return true }
        WaitInVain.note(limit * 1_000_000_000)
        return false
    }
}
