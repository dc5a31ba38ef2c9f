// SPDX-License-Identifier: Apache-2.0

import CReference
import ConcurrentObserve

/// Heap per observation.
enum MemorySuite {
    static let cases = [perObservation]

    /// Token, closure storage and share of the table; the counters, which are the closures' contexts, exist before.
    private static let perObservation = Case(
        name: "registry.observe.bytes-per-observation",
        unit: .bytes,
        bar: .bytesPerObservation,
        summary: .median,
        isLong: true
    ) { _ in
        let count = 100_000
        return Case.Sides(ours: {
            let counters = (0..<count).map { _ in Counter() }
            let registry = ObserverRegistry<Int>()
            var tokens: [ObservationToken] = []
            tokens.reserveCapacity(count)
            ConcurrentObserveDiagnostics.drain()
            let before = creference_heap_bytes()
            for counter in counters { tokens.append(registry.observe { event in counter.value &+= event }) }
            // Frees the tables that were outgrown.
            ConcurrentObserveDiagnostics.drain()
            let bytes = Double(creference_heap_bytes() - before) / Double(count)
            withExtendedLifetime(tokens) {}
            return bytes
        })
    }
}
