// SPDX-License-Identifier: Apache-2.0

import CReference
import ConcurrentObserve
import Synchronization

/// One registry with one observer, notified on two threads at once.
///
/// The observer adds to a tally of the thread, so that the threads share nothing but what the notification shares.
enum ThreadsSuite {
    static let cases = [growth, growthOfOwnRegistries, growthOfMutex, versusMutex, besideChurn]

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

    /// The same where each thread has a registry of its own.
    private static let growthOfOwnRegistries = Case(
        name: "registry.notify.growth-on-2-threads-own-registries",
        unit: .growth,
        bar: .growthOnTwoThreads,
        summary: .median
    ) { effort in
        let ours = (0..<2).map { _ in TallyingRegistry() }
        let reference = TallyingReference()
        let events = effort.work(400_000)
        let next = Turn()
        return Case.Sides(
            ours: { growth { ours[next.take() % 2].notify(events) } },
            reference: { growth { reference.notify(events) } }
        )
    }

    private static let growthOfMutex = Case(
        name: "mutex.notify.growth-on-2-threads",
        unit: .growth,
        bar: .none,
        summary: .median
    ) { effort in
        let ours = TallyingRegistry()
        let list = MutexList()
        list.observe { event in creference_tally(event) }
        let (events, fewer) = (effort.work(400_000), effort.work(100_000))
        return Case.Sides(
            ours: { growth { ours.notify(events) } },
            reference: { growth { for event in 0..<fewer { list.notify(event) } } }
        )
    }

    /// A notification while another thread registers and cancels on the registry, against one while another thread is busy elsewhere.
    private static let besideChurn = Case(
        name: "registry.notify.beside-churn",
        unit: .nanoseconds,
        bar: .none,
        summary: .median
    ) { effort in
        let (churned, quiet) = (ObservedCounters(1), ObservedCounters(1))
        let events = effort.work(400_000)
        let registry = churned.registry
        let counter = Counter()
        return Case.Sides(
            ours: {
                let busy = BusyThread { registry.observe { event in counter.value &+= event }.cancel() }
                defer { busy.stop() }
                return nanoseconds { churned.notify(events) } / Double(events)
            },
            reference: {
                let busy = BusyThread {}
                defer { busy.stop() }
                return nanoseconds { quiet.notify(events) } / Double(events)
            }
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

/// Hands out numbers, one to each that asks.
private final class Turn: Sendable {
    private let next = Atomic<Int>(0)

    /// Relaxed: who gets which does not matter.
    func take() -> Int { next.add(1, ordering: .relaxed).oldValue }
}
