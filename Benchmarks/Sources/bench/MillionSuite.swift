// SPDX-License-Identifier: Apache-2.0

import CReference
import ConcurrentObserve

/// Measures one million observers of one registry.
enum MillionSuite {
    static let cases = [registered, notified]

    private static let count = 1_000_000

    /// Each round first uses memory that the previous round has returned to the system. Up to a
    /// third of the time are its page faults.
    private static let registered = Case(
        name: "registry.observe.1000000-observers",
        unit: .seconds,
        bar: .millionRegisteredSeconds,
        summary: .median,
        isLong: true
    ) { _ in
        Case.Sides(ours: {
            var observed: ObservedCounters?
            let time = nanoseconds { observed = ObservedCounters(count) } / 1e9
            observed = nil
            ConcurrentObserveDiagnostics.drain()
            return time
        })
    }

    private static let notified = Case(
        name: "registry.notify.1000000-observers",
        unit: .nanoseconds,
        bar: .millionNotified
    ) { _ in
        let observed = ObservedCounters(ofThreeKinds: count)
        let list = CList(creference_list_make(count))
        return Case.Sides(
            ours: { nanoseconds { observed.registry.notify(1) } / Double(count) },
            reference: { nanoseconds { list.notify(1) } / Double(count) }
        )
    }
}
