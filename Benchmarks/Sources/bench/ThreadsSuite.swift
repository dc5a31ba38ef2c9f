// SPDX-License-Identifier: Apache-2.0

import CReference
import ConcurrentObserve

/// One registry with one observer, notified on two threads at once.
///
/// The observer adds to a tally of the thread, so that the threads share nothing but what the notification shares.
enum ThreadsSuite {
    static let cases = [growth, versusMutex]

    /// How many times longer a notification takes when two threads notify than when one does.
    private static let growth = Case(
        name: "registry.notify.growth-on-2-threads",
        unit: .growth,
        bar: .growthOnTwoThreads,
        summary: .median
    ) { effort in
        let ours = TallyingRegistry()
        let reference = TallyingReference()
        let events = effort.work(400_000)
        return Case.Sides(
            ours: { growth { ours.notify(events) } },
            reference: { growth { reference.notify(events) } }
        )
    }

    private static func growth(_ body: @escaping @Sendable () -> Void) -> Double {
        let alone = nanosecondsPerThread(1, body)
        return nanosecondsPerThread(2, body) / alone
    }

    private static let versusMutex = Case(
        name: "mutex.notify.1-observer-2-threads",
        unit: .nanoseconds,
        bar: .mutexOnTwoThreads,
        summary: .median
    ) { effort in
        let ours = TallyingRegistry()
        let list = MutexList()
        list.observe { event in creference_tally(event) }
        let (events, fewer) = (effort.work(400_000), effort.work(100_000))
        return Case.Sides(
            ours: { nanosecondsPerThread(2) { ours.notify(events) } / Double(events) },
            reference: {
                nanosecondsPerThread(2) { for event in 0..<fewer { list.notify(event) } } / Double(fewer)
            }
        )
    }
}

private final class TallyingRegistry: Sendable {
    private let registry = ObserverRegistry<Int>()
    private let token: ObservationToken

    init() { token = registry.observe { event in creference_tally(event) } }

    @inline(never)
    func notify(_ events: Int) {
        for event in 0..<events { registry.notify(event) }
    }
}

private final class TallyingReference: @unchecked Sendable {
    // Unchecked: the list is constant.
    private let list = CList(creference_list_make_tallying())

    func notify(_ events: Int) { list.notify(events) }
}
