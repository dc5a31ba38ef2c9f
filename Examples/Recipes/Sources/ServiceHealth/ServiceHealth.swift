// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// The health of a service, from ten signals that any thread reports.
final class ServiceHealth: Sendable {
    enum Verdict: Equatable, Sendable { case healthy, degraded(String), failed(String) }

    let (isDatabaseUp, isCacheUp, isQueueUp) = (Observed(true), Observed(true), Observed(true))
    let (freeMemory, freeDisk) = (Observed(0.6), Observed(0.8))
    let (errorsPerMinute, requestsPerMinute) = (Observed(0), Observed(1_000))
    let (latency, queueLength) = (Observed(0.02), Observed(3))
    let isDraining = Observed(false)

    /// The two signals that report together. A `commit` sets both, so no rate mixes the errors of
    /// one minute with the requests of another.
    let traffic: Group<(Int, Int)>
    /// At most one change for each report, and none while the rate stays on its side of the limit.
    let failsTooOften: Derived<Bool>
    /// The signals that are missing now.
    let missing: Derived<[String]>
    let verdict: Derived<Verdict>

    init() {
        let (errors, requests) = (errorsPerMinute, requestsPerMinute)
        traffic = Group(errors, requests)
        failsTooOften = Derived(errors, requests) { errors, requests in errors * 100 > requests * 5 }
        let parts = [("database", isDatabaseUp), ("cache", isCacheUp), ("queue", isQueueUp)]
        missing = Derived { get in parts.filter { !get($0.1) }.map(\.0) }
        verdict = Derived { [failsTooOften, missing, isDraining, freeMemory, freeDisk, latency, queueLength] get in
            // While the service is stopping, nothing else is asked, and no change of the others
            // evaluates this.
            if get(isDraining) { return .degraded("draining") }
            let missing = get(missing)
            if missing.contains("database") { return .failed("no database") }
            if get(failsTooOften) { return .failed("too many errors") }
            if let part = missing.first { return .degraded("no \(part)") }
            if min(get(freeMemory), get(freeDisk)) < 0.1 { return .degraded("no room") }
            if get(latency) > 0.5 || get(queueLength) > 100 { return .degraded("slow") }
            return .healthy
        }
    }
}
