// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Foundation
import OpenCombine

/// Measures registering and cancelling.
enum RegistrationSuite {
    static let cases = [pair, versusCombine, versusCenter] + [0, 100, 10_000].map(versusDictionary)

    /// Returns a case for a pair among 100,000 live observations. The reference is a pair among
    /// 100.
    private static let pair = Case(
        name: "registry.observe+cancel.100000-live-versus-100",
        unit: .nanoseconds,
        bar: .pairAmongManyLive,
        summary: .median,
        callsObservers: false
    ) { effort in
        let (many, few) = (ObservedCounters(100_000), ObservedCounters(100))
        // The larger registry, too, grows out of its table in every round.
        let pairs = 200_000
        return Case.Sides(
            ours: { perPair(many.registry, pairs) },
            reference: { perPair(few.registry, pairs) }
        )
    }

    private static let versusCombine = Case(
        name: "opencombine.observe+cancel",
        unit: .nanoseconds,
        bar: .pairOfCombine,
        summary: .median,
        callsObservers: false
    ) { effort in
        let observed = ObservedCounters(100)
        let subject = PassthroughSubject<Int, Never>()
        let others = (0..<100).map { _ in
            let counter = Counter()
            return subject.sink { event in counter.value &+= event }
        }
        let pairs = effort.work(40_000)
        return Case.Sides(
            ours: { perPair(observed.registry, pairs) },
            reference: {
                let counter = Counter()
                let time = nanoseconds {
                    for _ in 0..<pairs { subject.sink { event in counter.value &+= event }.cancel() }
                }
                return withExtendedLifetime(others) { time / Double(pairs) }
            }
        )
    }

    private static let versusCenter = Case(
        name: "notificationcenter.observe+cancel",
        unit: .nanoseconds,
        bar: .pairOfCenter,
        summary: .median,
        callsObservers: false
    ) { effort in
        let observed = ObservedCounters(100)
        let (center, name) = (NotificationCenter(), Notification.Name("changed"))
        let others = (0..<100).map { _ in
            let counter = Counter()
            return center.addObserver(forName: name, object: nil, queue: nil) { _ in counter.value &+= 1 }
        }
        let pairs = effort.work(40_000)
        return Case.Sides(
            ours: { perPair(observed.registry, pairs) },
            reference: {
                let counter = Counter()
                let time = nanoseconds {
                    for _ in 0..<pairs {
                        center.removeObserver(
                            center.addObserver(forName: name, object: nil, queue: nil) { _ in counter.value &+= 1 }
                        )
                    }
                }
                return withExtendedLifetime(others) { time / Double(pairs) }
            }
        )
    }

    /// Returns a case whose reference is a dictionary of closures behind a mutex.
    private static func versusDictionary(live: Int) -> Case {
        Case(
            name: "dictionary.observe+cancel.\(live)-live",
            unit: .nanoseconds,
            bar: .pairOfDictionary,
            summary: .median,
            callsObservers: false
        ) { effort in
            let (observed, dictionary) = (ObservedCounters(live), MutexDictionaryOfClosures())
            let others = (0..<live).map { _ in
                let counter = Counter()
                return dictionary.observe { event in counter.value &+= event }
            }
            let pairs = effort.work(100_000)
            return Case.Sides(
                ours: { perPair(observed.registry, pairs) },
                reference: {
                    let counter = Counter()
                    let time = nanoseconds {
                        for _ in 0..<pairs { dictionary.observe { event in counter.value &+= event }.cancel() }
                    }
                    return withExtendedLifetime(others) { time / Double(pairs) }
                }
            )
        }
    }

    private static func perPair(_ registry: ObserverRegistry<Int>, _ pairs: Int) -> Double {
        let counter = Counter()
        let time = nanoseconds {
            for _ in 0..<pairs { registry.observe { event in counter.value &+= event }.cancel() }
        }
        ConcurrentObserveDiagnostics.drain()
        return time / Double(pairs)
    }
}
