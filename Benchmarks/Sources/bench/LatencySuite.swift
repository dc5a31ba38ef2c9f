// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Histogram

/// The 99.9th percentile of a notification's latency, in an open loop, while other threads do
/// something else.
///
/// The machine takes the processor from a thread now and then, more often when others want it too:
/// on two processors a notification beside three busy threads waits for milliseconds, whatever they
/// do. So the reference of a situation has as many busy threads as the situation, which touch
/// nothing of the library's. The table of all percentiles has the quiet machine beside them.
enum LatencySuite {
    static let cases = [quiet, churn, reclamation, stuckCallback]

    /// The reference does nothing when the time has come: what the machine itself adds.
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

    /// Another thread registers and cancels on the same registry, flat out; one reclaims, one
    /// destroys.
    private static let churn = besides("churn", busyThreads: 3, .latencyUnderChurn) { registry in
        let counter = Counter.uncalled()
        return { registry.observe { event in counter.value &+= event }.cancel() }
    }

    /// Another thread replaces values that have to be reclaimed, flat out; one reclaims.
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

    /// A callback of the same registry has not returned.
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
