// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Synchronization

/// A counter that an observer increments, on one thread.
final class Counter: @unchecked Sendable {
    // Unchecked: the cases that use it notify on one thread.
    var value = 0
    /// Keeps the counters of two observers in different cache lines.
    let state = (0, 0, 0, 0)
    /// The number of the preparation that has made it; 0 if none has.
    private let preparation = preparing.load(ordering: .relaxed)

    deinit {
        guard preparation != 0, preparation == Self.watched.load(ordering: .relaxed) else { return }
        if !Self.isOver.load(ordering: .relaxed) || value == 0 { Self.failed.add(1, ordering: .relaxed) }
    }

    // Relaxed, all: the threads that destroy counters have no work left when the number matters,
    // and later counters belong to another preparation.
    private static let preparing = Atomic(0)
    private static let watched = Atomic(0)
    private static let isOver = Atomic(false)
    private static let failed = Atomic(0)
}

extension Counter {
    /// Makes a counter for an observer that is cancelled at once.
    static func uncalled() -> Counter {
        let counter = Counter()
        counter.value = 1
        return counter
    }

    /// Measures the objects that `prepare` makes. Checks that their observers exist until the end
    /// and were called: if an observer ends early, the measured work costs nothing.
    ///
    /// - Parameter areCalled: Whether each observer adds to its counter. Some observers are not
    ///   called.
    static func watched<Prepared, Figures>(
        _ name: String,
        areCalled: Bool,
        prepare: () -> Prepared,
        measure: (Prepared) -> Figures
    ) -> Figures {
        let preparation = watched.add(1, ordering: .relaxed).newValue
        isOver.store(false, ordering: .relaxed)
        failed.store(0, ordering: .relaxed)
        preparing.store(preparation, ordering: .relaxed)
        var prepared: Prepared? = prepare()
        preparing.store(0, ordering: .relaxed)
        let figures = measure(prepared!)
        demandNone("\(name): observers have ended before the measurement has")
        isOver.store(true, ordering: .relaxed)
        prepared = nil
        ConcurrentObserveDiagnostics.drain()
        if areCalled { demandNone("\(name): observers have not been called") }
        return figures
    }

    private static func demandNone(_ what: String) {
        let count = failed.load(ordering: .relaxed)
        if count > 0 { fatalError("\(what): \(count)") }
    }
}

/// A registry with observers. Each observer has its own counter.
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

    /// Makes observers with three closures that alternate, as in the reference's list. On some
    /// processors a call with one target takes one of two times, for seconds (Zen 5: 3.9 or 5.7
    /// cycles, also in C), and chance decides which one. A call with several targets takes one.
    ///
    /// None of them is the closure of the initialiser above. If two were equal, the compiler would
    /// make one of them jump to the other.
    init(ofThreeKinds count: Int) {
        tokens = (0..<count).map { [registry] index in
            let counter = Counter()
            return switch index % 3 {
            case 0: registry.observe { event in counter.value |= event }
            case 1: registry.observe { event in counter.value &-= event }
            default: registry.observe { event in counter.value &+= event &* 2 }
            }
        }
    }

    @inline(never)
    func notify(_ events: Int) {
        for event in 0..<events { registry.notify(event) }
    }
}
