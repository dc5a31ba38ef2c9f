// SPDX-License-Identifier: Apache-2.0

#if Tracing
import ConcurrentObserve
import ConcurrentObserveTesting
import ConcurrentObserveTracing
import Dispatch
import Foundation
import InMemoryLogging
import Logging
import Synchronization
import TaskLocalReads
import Testing
import Tracing

/// Serialized: the tests block the threads of actors.
@Suite("The setter's context in deliveries", .serialized, .leavesNothingBehind, .timeLimit(.minutes(5)))
struct DeliveryContextTests {
    @Test("Each change has its own context, whatever the policy drops", arguments: Place.allCases, policies)
    func policy(place: Place, policy: Buffering) async throws {
        let property = Observed(-1)
        let (log, hold) = (Log<Seen>(), Hold())
        let kept = place.observe(property, policy) { change in
            if change.new == 0 { hold.hold() }
            log.append(Seen(change.new))
        }
        await hold.whileHeld {
            inContext(0) { property.value = 0 }
        } _: {
            for value in 1...6 { inContext(value) { property.value = value } }
        }
        await kept.flush()
        #expect(log.entries == ([0] + policy.keptOfSix).map { Seen($0, context: $0) })
        await kept.end()
    }

    @Test("A change without a context has none, also on a thread that has one", arguments: Place.allCases)
    func none(place: Place) async {
        let property = Observed(-1)
        let (log, hold) = (Log<Seen>(), Hold())
        let kept = place.observe(property, .unbounded) { change in
            if change.new == 0 { hold.hold() }
            log.append(Seen(change.new))
        }
        await hold.whileHeld {
            inContext(0) {
                property.value = 0
                // A serial delivery has returned, and so has the context.
                log.append(Seen(100))
            }
        } _: {
            property.value = 1
            inContext(2) { property.value = 2 }
            property.value = 3
        }
        await kept.flush()
        #expect(
            log.entries.filter { $0.value < 100 } == [
                Seen(0, context: 0), Seen(1, context: nil), Seen(2, context: 2), Seen(3, context: nil),
            ]
        )
        #expect(log.entries.filter { $0.value == 100 } == [Seen(100, context: 0)])
        await kept.end()
    }

    @Test("The initial value has the context of the observer", arguments: Place.allCases)
    func initial(place: Place) async {
        let property = Observed(7)
        let log = Log<Seen>()
        let kept = inContext(7) {
            place.observe(property, .unbounded, options: .initial) { change in log.append(Seen(change.new)) }
        }
        inContext(8) { property.value = 8 }
        await kept.flush()
        #expect(log.entries == [Seen(7, context: 7), Seen(8, context: 8)])
        await kept.end()
    }

    @Test("The value ahead of a change has its context", arguments: Place.allCases)
    func prior(place: Place) async {
        let property = Observed(1)
        let log = Log<Seen>()
        let kept = place.observe(property, .unbounded, options: .prior) { change in log.append(Seen(change.new)) }
        inContext(2) { property.value = 2 }
        await kept.flush()
        #expect(log.entries == [Seen(1, context: 2), Seen(2, context: 2)])
        await kept.end()
    }

    @Test("Values and contexts agree under concurrent setters", arguments: Place.allCases, policies)
    func concurrent(place: Place, policy: Buffering) async {
        let property = Observed(0)
        let log = Log<Seen>()
        let kept = place.observe(property, policy) { change in log.append(Seen(change.new)) }
        await setConcurrently(property)
        await kept.flush()
        #expect(log.entries.filter { !$0.agrees } == [])
        #expect(log.entries.count == Int(kept.token.deliveryCounts?.received ?? 0))
        await kept.end()
    }

    @Test("Every form of closure runs in the context")
    func forms() async {
        let property = Observed(0)
        let log = Log<Seen>()
        let queue = Delivery.queue(DispatchQueue(label: "q"))
        let owner = Tag(0)
        let tokens = [
            property.observe(delivery: queue) { change, _ in log.append(Seen(change.new)) },
            property.observe(owner: owner, delivery: queue) { _, change in log.append(Seen(change.new)) },
            property.observeValues(delivery: queue) { value in log.append(Seen(value)) },
            property.removingDuplicates().observe(delivery: queue) { change in log.append(Seen(change.new)) },
            property.readOnly.observe(delivery: queue) { change in log.append(Seen(change.new)) },
        ]
        inContext(1) { property.value = 1 }
        for token in tokens { await token.flush() }
        #expect(log.entries == Array(repeating: Seen(1, context: 1), count: 5))
        for token in tokens { await token.cancelAndWait() }
        withExtendedLifetime(owner) {}
    }

    @Test("Events of a registry have the notifier's context")
    func registry() async {
        let registry = ObserverRegistry<Int>()
        let log = Log<Seen>()
        let actor = ObservationActor()
        let tokens = [
            registry.observe(delivery: .queue(DispatchQueue(label: "q"))) { log.append(Seen($0)) },
            registry.observe(delivery: .serial()) { log.append(Seen($0)) },
            registry.observe(on: actor) { log.append(Seen($1)) },
        ]
        inContext(1) { registry.notify(1) }
        for token in tokens { await token.flush() }
        #expect(log.entries == Array(repeating: Seen(1, context: 1), count: 3))
        for token in tokens { await token.cancelAndWait() }
    }

    @Test("A commit, a path, a binding and a derived value have the context of the change that they follow")
    func followers() async {
        final class Engine: ConcurrentObservable { let rpm = Observed(0) }
        final class Car: ConcurrentObservable {
            let engine = Observed(Engine())
            let mileage = Observed(0)
        }
        let (car, left, bound) = (Car(), Observed(0), Observed(0))
        let log = Log<Seen>()
        let queue = Delivery.queue(DispatchQueue(label: "q"))
        let doubled = left.map { $0 / 2 * 2 }
        let binding = left.bind(to: bound)
        let tokens = [
            Group(left, car.mileage).observe(delivery: queue) { log.append(Seen($0.new.0)) },
            car.property(\.engine.rpm).observe(delivery: queue) { log.append(Seen($0.new)) },
            bound.observe(delivery: queue) { log.append(Seen($0.new)) },
            doubled.observe(delivery: queue) { log.append(Seen($0.new)) },
        ]
        inContext(2) {
            Group(left, car.mileage).commit { drafts in
                drafts[left] = 2
                drafts[car.mileage] = 3
            }
        }
        for token in tokens { await token.flush() }
        #expect(log.entries == Array(repeating: Seen(2, context: 2), count: 3))
        inContext(4) { car.engine.value.rpm.value = 4 }
        await tokens[1].flush()
        #expect(log.entries.last == Seen(4, context: 4))
        inContext(6) { car.engine.value = Engine() }
        await tokens[1].flush()
        #expect(log.entries.last == Seen(0, context: 6))
        for token in tokens { await token.cancelAndWait() }
        binding.cancel()
    }

    @Test("A metadata provider of swift-log sees the context")
    func metadataProvider() async {
        var handler = InMemoryLogHandler()
        handler.metadataProvider = Logger.MetadataProvider { ["id": "\(ServiceContext.current?.tag?.id ?? -1)"] }
        let logger = Logger(label: "provider") { [handler] _ in handler }
        let property = Observed(0)
        let token = property.observe(delivery: .queue(DispatchQueue(label: "q"))) { logger.info("\($0.new)") }
        inContext(1) { property.value = 1 }
        property.value = 2
        await token.flush()
        #expect(handler.entries.map(\.metadata["id"]) == ["1", "-1"])
        await token.cancelAndWait()
    }

    @Test("Values of contexts are released when the change is delivered, dropped, or no longer awaited")
    func released() async throws {
        let live = Tag.live.load(ordering: .relaxed)
        for policy in policies {
            let property = Observed(-1)
            let hold = Hold()
            let kept = Place.queue.observe(property, policy) { if $0.new == 0 { hold.hold() } }
            await hold.whileHeld {
                inContext(0) { property.value = 0 }
            } _: {
                for value in 1...6 { inContext(value) { property.value = value } }
            }
            await kept.flush()
            try await whenQuiet()
            #expect(Tag.live.load(ordering: .relaxed) == live)
            // Pending changes of an observation that ends.
            await hold.whileHeld {
                inContext(0) { property.value = 0 }
            } _: {
                for value in 1...6 { inContext(value) { property.value = value } }
                kept.token.cancel()
            }
            await kept.end()
            try await whenQuiet()
            #expect(Tag.live.load(ordering: .relaxed) == live)
        }
    }

    @Test("P5 No value of a context is destroyed on a setting thread", arguments: Place.allCases, policies)
    func destroyedElsewhere(place: Place, policy: Buffering) async throws {
        // Not plain bits, and plain bits: the policy treats the events differently.
        try await destroyedElsewhere(place, policy) { $0 }
        try await destroyedElsewhere(place, policy) { [$0] }
    }

    private func destroyedElsewhere<Value: Sendable>(
        _ place: Place,
        _ policy: Buffering,
        _ value: @escaping @Sendable (Int) -> Value
    ) async throws {
        let property = Observed(value(-1))
        let isFirst = Atomic<Bool>(true)
        let (hold, wrong, destroyed) = (Hold(), Log<Int>(), Log<Int>())
        let kept = place.observe(property, policy) { _ in
            if isFirst.exchange(false, ordering: .relaxed) { hold.hold() }
        }
        await hold.whileHeld {
            property.value = value(0)
        } _: {
            let setter = pthread_self()
            for id in 1...6 {
                let tag = Tag(id) {
                    if pthread_self() == setter { wrong.append(id) }
                    destroyed.append(id)
                    // A lock that is held would be taken again.
                    _ = property.observationCount
                }
                inContext(consume tag) { property.value = value(id) }
            }
        }
        await kept.flush()
        try await whenQuiet()
        // One that is dropped as the newest never leaves the setter.
        let expected = policy == .droppingNewest(2) ? [3, 4, 5, 6] : []
        #expect(wrong.entries == expected)
        #expect(destroyed.entries.sorted() == Array(1...6))
        await kept.end()
    }

    @Test("A delivery looks up only the task-local values of its thread that decide")
    func lookups() {
        let property = Observed(0)
        let token = property.observe(delivery: .serial()) { _ in }
        func lookups() -> Int {
            let before = task_local_reads()
            property.value += 1
            return task_local_reads() - before
        }
        // The change captures two values: the service context, and the logger.
        #expect(inContext(1) { lookups() } == 2)
        // The delivery hides the logger of its thread, if there is one.
        #expect(ServiceContext.withValue(.topLevel) { lookups() } == 3)
        // Without either, it hides both.
        #expect(lookups() == 4)
        token.cancel()
    }

    @Test("Without a context nothing is kept for a dropped change of plain bits")
    func nothingKept() async throws {
        let property = Observed(0)
        let hold = Hold()
        let isFirst = Atomic<Bool>(true)
        let kept = Place.queue.observe(property, .latest) { _ in
            if isFirst.exchange(false, ordering: .relaxed) { hold.hold() }
        }
        var retired = 0
        await hold.whileHeld {
            property.value = -1
        } _: {
            func count() -> Int {
                let now = ConcurrentObserveDiagnostics.current()
                return now.reclaimed + now.backlog
            }
            property.value = -2
            let before = count()
            for value in 1...10_000 { property.value = value }
            retired = count() - before
        }
        #expect(retired < 100)
        await kept.flush()
        await kept.end()
    }
}
#endif
