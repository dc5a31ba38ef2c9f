// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Histogram

/// Measures the 99.9th percentile of a notification's latency, in an open loop, while other threads
/// work.
///
/// Sometimes the machine takes the processor from a thread, more often if other threads need it,
/// too. On two processors, a notification with three busy threads waits for milliseconds, whatever
/// they do. The reference of a situation therefore has the same number of busy threads, which use
/// no object of the library. The table of all percentiles has the quiet machine next to them.
enum LatencySuite {
    static let cases = [quiet, churn, reclamation, stuckCallback]

    /// The reference does nothing when an operation is due: it shows the latency of the machine.
    private static let quiet = Case(
        name: "latency.notify.quiet",
        unit: .nanoseconds,
        bar: .compared("it shows what the machine adds"),
        summary: .median
    ) { effort in
        let latency = Latency(effort)
        let observed = ObservedCounters(1)
        return Case.Sides(
            ours: { tail("notify.quiet", latency.round { observed.registry.notify($0) }) },
            reference: { tail("timer.quiet", latency.round { _ in }) }
        )
    }

    /// Another thread registers and cancels on the same registry without a pause. One thread
    /// reclaims, and one destroys.
    private static let churn = besides("churn", busyThreads: 3, .latencyUnderChurn) { registry in
        let counter = Counter.uncalled()
        return { registry.observe { event in counter.value &+= event }.cancel() }
    }

    /// Another thread replaces values that must be reclaimed, without a pause. One thread reclaims.
    private static let reclamation = besides("reclamation", busyThreads: 2, .latencyUnderChurn) { _ in
        let property = Observed("a string that is longer than fifteen bytes")
        let values = (0..<2).map { "\($0): another string of that length" }
        return {
            for value in values { property.value = value }
        }
    }

    private static func besides(
        _ situation: String,
        busyThreads: Int,
        _ bar: Bar,
        _ disturb: @escaping @Sendable (ObserverRegistry<Int>) -> @Sendable () -> Void
    ) -> Case {
        Case(name: "latency.notify.\(situation)", unit: .nanoseconds, bar: bar, summary: .median) { effort in
            let latency = Latency(effort)
            let (disturbed, other) = (ObservedCounters(1), ObservedCounters(1))
            let disturbance = disturb(disturbed.registry)
            return Case.Sides(
                ours: {
                    let busy = BusyThread(disturbance)
                    defer { busy.stop() }
                    return tail("notify.\(situation)", latency.round { disturbed.registry.notify($0) })
                },
                reference: {
                    let busy = (0..<busyThreads).map { _ in BusyThread {} }
                    defer { for thread in busy { thread.stop() } }
                    return tail("notify.\(busyThreads)-busy-threads", latency.round { other.registry.notify($0) })
                }
            )
        }
    }

    /// A callback of the same registry blocks.
    private static let stuckCallback = Case(
        name: "latency.notify.stuck-callback",
        unit: .nanoseconds,
        bar: .latencyUnderChurn,
        summary: .median
    ) { effort in
        let latency = Latency(effort)
        let (stuck, other) = (StuckCallback(), ObservedCounters(1))
        let registry = stuck.registries[0]
        let counter = Counter()
        let token = registry.observe { event in counter.value &+= event }
        return Case.Sides(
            ours: {
                withExtendedLifetime((stuck, token)) {
                    tail("notify.stuck-callback", latency.round { registry.notify($0) })
                }
            },
            reference: { tail("notify.quiet", latency.round { other.registry.notify($0) }) }
        )
    }

    private static func tail(_ situation: String, _ round: Histogram<UInt64>) -> Double {
        LatencyLog.shared.add(round, to: situation)
        return Double(round.valueAtPercentile(99.9))
    }
}
