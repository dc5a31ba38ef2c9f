// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// Registering and cancelling.
enum RegistrationSuite {
    static let cases = [pair]

    /// A pair among 100,000 live observations, compared with one among 100.
    private static let pair = Case(
        name: "registry.observe+cancel.100000-live-versus-100",
        unit: .nanoseconds,
        bar: .pairAmongManyLive,
        summary: .median
    ) { effort in
        let (many, few) = (ObservedCounters(100_000), ObservedCounters(100))
        // Enough that the larger registry, too, outgrows its table in every round.
        let pairs = 200_000
        return Case.Sides(
            ours: { perPair(many.registry, pairs) },
            reference: { perPair(few.registry, pairs) }
        )
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
