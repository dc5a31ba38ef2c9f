// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P2 Where callbacks run that carry their isolation")
    struct IsolationTests {}
}

/// A global actor that is not the main one.
@globalActor
private actor Studio {
    static let shared = Studio()
}

/// Counts in isolation, without a lock: what is counted wrongly was not isolated.
private actor Tally {
    private var count = 0

    func add(_ change: Change<Int>) {
        preconditionIsolated()
        count += 1
    }

    var total: Int { count }
}

extension Promises.IsolationTests {
    @Test("P2 A closure on a global actor runs there: the main one, and another; of properties, paths and registries")
    func globalActors() async throws {
        let (property, car, registry) = (Observed(0), Car(0), ObserverRegistry<Int>())
        let calls = Counter()
        let tokens = [
            property.observe(buffering: .unbounded) { @MainActor (_: Change<Int>) in
                MainActor.preconditionIsolated()
                calls.increment()
            },
            car.observe(\.axle.wheel.pressure, buffering: .unbounded) { @MainActor (_: Change<Int>) in
                MainActor.preconditionIsolated()
                calls.increment()
            },
            registry.observe(buffering: .unbounded) { @MainActor (_: Int) in
                MainActor.preconditionIsolated()
                calls.increment()
            },
            property.observe(buffering: .latest) { @Studio (_: Change<Int>) in
                Studio.shared.preconditionIsolated()
                calls.increment()
            },
            property.observe(on: MainActor.shared) { actor, _ in
                actor.preconditionIsolated()
                calls.increment()
            },
        ]
        property.value = 1
        car.setPressure(1)
        registry.notify(1)
        try await eventuallyAsync("all callbacks") { calls.value == 5 }
        withExtendedLifetime(tokens) {}
    }

    @Test("P2 On the main actor, cancelling silences at once")
    @MainActor
    func cancelOnTheMainActor() async throws {
        let property = Observed(0)
        var heard = 0
        let first = Signal("the first callback")
        let token = property.observe(buffering: .unbounded) { @MainActor (_: Change<Int>) in
            heard += 1
            first.happen()
        }
        for number in 1...100 { property.value = number }
        #expect(heard == 0)
        try await first.arrival()
        #expect(heard > 0)
        for number in 1...100 { property.value = number }
        token.cancel()
        let last = heard
        for _ in 0..<100 { await Task.yield() }
        #expect(heard == last)
    }

    @Test("P2 The closure receives its actor, isolated: its state needs no lock", arguments: Origin.versioned)
    func isolatedParameter(origin: Origin) async throws {
        let (tally, property, car) = (Tally(), Observed(0), Car(0))
        let token =
            origin == .property
            ? property.observe(on: tally) { tally, change in tally.add(change) }
            : car.observe(\.axle.wheel.pressure, on: tally) { tally, change in tally.add(change) }
        try onThreads(3) { _ in
            for number in 1...500 {
                property.value = number
                car.setPressure(number)
            }
        }
        try await eventuallyAsync("all changes") { token.counts.pending == 0 }
        #expect(await tally.total == 1_500)
    }

    @Test("P2 A closure that is isolated to nothing runs outside every actor, one at a time")
    func nonisolated() async throws {
        let (property, audience) = (Observed(0), Audience())
        let (callbacks, writers) = (Log<Int>(), Log<Int>())
        let token = property.observe(buffering: .unbounded) { (change: Change<Int>) in
            callbacks.append(threadNumber())
            audience.hear(Heard(change))
        }
        try onThreads(2) { _ in
            writers.append(threadNumber())
            for number in 1...300 { property.value = number }
        }
        try await eventuallyAsync("all changes") { audience.count == 600 }
        #expect(Set(callbacks.entries).isDisjoint(with: writers.entries))
        #expect(audience.overlaps == 0)
        #expect(audience.mistakes.isEmpty)
        withExtendedLifetime(token) {}
    }

    @Test("P2 An inline callback runs on the changing thread, before the change returns")
    func inline() throws {
        let stage = Observed(0)
        let threads = Log<Int>()
        let tokens = [
            stage.observe(delivery: .inline) { (_: Change<Int>) in threads.append(threadNumber()) },
            stage.observe(delivery: .serial()) { (_: Change<Int>) in threads.append(threadNumber()) },
        ]
        let expected = Log<Int>()
        try onNewThread {
            expected.append(threadNumber())
            stage.value = 1
            #expect(threads.count == 2)
        }
        #expect(threads.entries == [expected.entries[0], expected.entries[0]])
        withExtendedLifetime(tokens) {}
    }
}
