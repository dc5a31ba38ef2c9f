// SPDX-License-Identifier: Apache-2.0

import CReference
import ConcurrentObserve

/// One million observers on one registry.
enum MillionSuite {
    static let cases = [registered, notified, notifiedInLayout]

    private static let count = 1_000_000

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

    private static let notified = notified("registry.notify.1000000-observers", .millionNotified) {
        let list = CList(creference_list_make(count))
        return { list.notify(1) }
    }

    /// Against C code that walks the same memory: what is left for the walk itself.
    private static let notifiedInLayout = notified("registry.notify.1000000-observers-same-layout", .none) {
        ScatteredList(count).notify
    }

    private static func notified(
        _ name: String,
        _ bar: Bar,
        _ reference: @escaping @Sendable () -> () -> Void
    ) -> Case {
        Case(name: name, unit: .nanoseconds, bar: bar) { _ in
            let observed = ObservedCounters(count)
            let notifyReference = reference()
            return Case.Sides(
                ours: { nanoseconds { observed.notify(1) } / Double(count) },
                reference: { nanoseconds { notifyReference() } / Double(count) }
            )
        }
    }
}

/// The reference's list in the library's layout.
private final class ScatteredList {
    private let list: UnsafeMutablePointer<creference_scattered_list>

    init(_ count: Int) { list = creference_scattered_list_make(count) }

    deinit { creference_scattered_list_free(list) }

    func notify() { creference_notify_scattered(list, 1) }
}
