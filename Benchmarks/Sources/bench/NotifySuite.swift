// SPDX-License-Identifier: Apache-2.0

import CReference
import ConcurrentObserve

/// Measures notifications on one thread.
enum NotifySuite {
    static let cases = [
        empty,
        versusReference(1, .notifyOne), versusReference(10, .notifyTen), versusReference(100, .notifyHundred),
        versusReference(10_000, .notifyHundred),
        versusMutex(1), versusMutex(10), versusMutex(100), versusMutex(10_000),
    ]

    private static let empty = Case(name: "registry.notify.empty", unit: .nanoseconds, bar: .emptyNotify) { effort in
        let observed = ObservedCounters(0)
        let events = effort.work(2_000_000)
        return Case.Sides(
            ours: { nanoseconds { observed.notify(events) } / Double(events) },
            reference: { nanoseconds { creference_empty_section_repeatedly(events) } / Double(events) }
        )
    }

    private static func versusReference(_ count: Int, _ bar: Bar) -> Case {
        Case(name: "registry.notify.\(count)-observers", unit: .nanoseconds, bar: bar) { effort in
            let observed = ObservedCounters(ofThreeKinds: count)
            let list = CList(creference_list_make(count))
            let events = effort.work(4_000_000 / (count + 1))
            return Case.Sides(
                ours: { nanoseconds { observed.notify(events) } / Double(events) },
                reference: { nanoseconds { list.notify(events) } / Double(events) }
            )
        }
    }

    private static func versusMutex(_ count: Int) -> Case {
        Case(name: "mutex.notify.\(count)-observers", unit: .nanoseconds, bar: .notifyOfMutex) { effort in
            let observed = ObservedCounters(count)
            let list = MutexList()
            for _ in 0..<count {
                let counter = Counter()
                list.observe { event in counter.value &+= event }
            }
            let events = max(1, effort.work(1_000_000 / (count + 1)))
            return Case.Sides(
                ours: { nanoseconds { observed.notify(events) } / Double(events) },
                reference: { nanoseconds { for event in 0..<events { list.notify(event) } } / Double(events) }
            )
        }
    }
}
