// SPDX-License-Identifier: Apache-2.0

import CReference
import ConcurrentObserve
import Judging
import Synchronization

/// Measures one registry with one observer, notified on two threads at once.
///
/// The observer adds to a tally of the thread. The threads therefore share only what the
/// notification shares.
enum ThreadsSuite {
    static let cases = [growth, growthOfOwnRegistries, growthOfMutex, versusMutex, besideChurn]

    /// The factor by which a notification takes longer if two threads notify.
    private static let growth = Case(
        name: "registry.notify.growth-on-2-threads",
        unit: .growth,
        bar: .growthOnTwoThreads,
        summary: .median
    ) { _ in
        let ours = TallyingRegistry()
        let reference = TallyingReference()
        let events = 200_000
        return Case.Sides(
            ours: { growth(events, ours.notify, ours.notify) },
            reference: { growth(events, reference.notify, reference.notify) }
        )
    }

    /// The factor by which a notification takes longer if two threads notify, and each has its own
    /// registry.
    private static let growthOfOwnRegistries = Case(
        name: "registry.notify.growth-on-2-threads-own-registries",
        unit: .growth,
        bar: .growthOnTwoThreads,
        summary: .median
    ) { _ in
        let ours = (0..<2).map { _ in TallyingRegistry() }
        let reference = TallyingReference()
        let events = 200_000
        return Case.Sides(
            ours: { growth(events, ours[0].notify, ours[1].notify) },
            reference: { growth(events, reference.notify, reference.notify) }
        )
    }

    private static let growthOfMutex = Case(
        name: "mutex.notify.growth-on-2-threads",
        unit: .growth,
        bar: .growthBesideMutex,
        summary: .median
    ) { _ in
        let ours = TallyingRegistry()
        let list = MutexList()
        list.observe { event in creference_tally(event) }
        let (events, fewer) = (200_000, 5_000)
        return Case.Sides(
            ours: { growth(events, ours.notify, ours.notify) },
            reference: { growth(fewer, list.notifyRepeatedly, list.notifyRepeatedly) }
        )
    }

    /// A notification while another thread registers and cancels on the registry. The reference is
    /// a notification while another thread is busy elsewhere.
    private static let besideChurn = Case(
        name: "registry.notify.beside-churn",
        unit: .nanoseconds,
        bar: .besideChurn,
        summary: .median
    ) { _ in
        let (churned, quiet) = (ObservedCounters(1), ObservedCounters(1))
        let events = 200_000
        let registry = churned.registry
        let counter = Counter.uncalled()
        let elsewhere = Atomic(0)
        return Case.Sides(
            ours: {
                nanosecondsPerOperation(events, churned.notify) { times in
                    for _ in 0..<times { registry.observe { event in counter.value &+= event }.cancel() }
                }
            },
            reference: {
                nanosecondsPerOperation(events, quiet.notify) { times in
                    // Relaxed: no thread reads anything because of it.
                    for _ in 0..<times { elsewhere.add(1, ordering: .relaxed) }
                }
            }
        )
    }

    /// Returns a case for the factor by which an operation takes longer if two threads run.
    private static func growth(
        _ times: Int,
        _ first: @escaping @Sendable (Int) -> Void,
        _ second: @escaping @Sendable (Int) -> Void
    ) -> Sample {
        let alone = nanosecondsPerOperation(times, [first])
        let together = nanosecondsPerOperation(times, [first, second])
        return Sample(together.figure / alone.figure, isDisturbed: alone.isDisturbed || together.isDisturbed)
    }

    private static let versusMutex = Case(
        name: "mutex.notify.1-observer-2-threads",
        unit: .nanoseconds,
        bar: .mutexOnTwoThreads,
        summary: .median
    ) { _ in
        let ours = TallyingRegistry()
        let list = MutexList()
        list.observe { event in creference_tally(event) }
        let (events, fewer) = (200_000, 5_000)
        return Case.Sides(
            ours: { nanosecondsPerOperation(events, [ours.notify, ours.notify]) },
            reference: { nanosecondsPerOperation(fewer, [list.notifyRepeatedly, list.notifyRepeatedly]) }
        )
    }
}

private final class TallyingReference: @unchecked Sendable {
    // Unchecked: the list is constant.
    private let list = CList(creference_list_make_tallying())

    func notify(_ events: Int) { list.notify(events) }
}

extension MutexList {
    fileprivate func notifyRepeatedly(_ events: Int) {
        for event in 0..<events { notify(event) }
    }
}
