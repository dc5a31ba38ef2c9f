// SPDX-License-Identifier: Apache-2.0

import CReference
import ConcurrentObserve

/// Measures the heap memory of an observation and of a property.
enum MemorySuite {
    static let cases = [perObservation, propertyObject, perProperty]

    /// The token, the closure's storage and a share of the table. The counters, which are the
    /// contexts of the closures, exist before.
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
            // Frees the tables that became too small.
            ConcurrentObserveDiagnostics.drain()
            let bytes = Double(creference_heap_bytes() - before) / Double(count)
            withExtendedLifetime((registry, counters, tokens)) {}
            return bytes
        })
    }

    /// The bytes that the allocator has given to the object itself.
    private static let propertyObject = Case(
        name: "property.init.object-bytes",
        unit: .bytes,
        bar: .bytesPerProperty,
        summary: .median,
        isLong: true
    ) { _ in
        Case.Sides(ours: {
            let property = Observed(0)
            return withExtendedLifetime(property) {
                Double(creference_usable_bytes(Unmanaged.passUnretained(property).toOpaque()))
            }
        })
    }

    /// The growth of the heap, including the words of the allocator.
    private static let perProperty = Case(
        name: "property.init.bytes-per-property",
        unit: .bytes,
        bar: .bytesPerProperty,
        summary: .median,
        isLong: true
    ) { _ in
        let count = 100_000
        return Case.Sides(ours: {
            var properties: [Observed<Int>] = []
            properties.reserveCapacity(count)
            ConcurrentObserveDiagnostics.drain()
            let before = creference_heap_bytes()
            for value in 0..<count { properties.append(Observed(value)) }
            let bytes = Double(creference_heap_bytes() - before) / Double(count)
            withExtendedLifetime(properties) {}
            return bytes
        })
    }
}
