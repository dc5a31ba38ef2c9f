// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// What an observer adds to, on one thread.
final class Counter: @unchecked Sendable {
    // Unchecked: the cases that use it notify on one thread.
    var value = 0
    /// Keeps the counters of two observers out of one cache line.
    let state = (0, 0, 0, 0, 0)
}

/// A registry with observers, each with a counter of its own.
struct ObservedCounters {
    let registry = ObserverRegistry<Int>()
    let tokens: [ObservationToken]

    init(_ count: Int) {
        let registry = registry
        var tokens: [ObservationToken] = []
        tokens.reserveCapacity(count)
        for _ in 0..<count {
            let counter = Counter()
            tokens.append(registry.observe { event in counter.value &+= event })
        }
        self.tokens = tokens
    }

    /// Three closures in turn. None is that of the initialiser above: the compiler would make one a jump to the other.
    init(ofThreeKinds count: Int) {
        tokens = (0..<count).map { [registry] index in
            let counter = Counter()
            return switch index % 3 {
            case 0: registry.observe { event in counter.value |= event }
            case 1: registry.observe { event in counter.value &-= event }
            default: registry.observe { event in counter.value ^= event }
            }
        }
    }

    @inline(never)
    func notify(_ events: Int) {
        for event in 0..<events { registry.notify(event) }
    }
}
