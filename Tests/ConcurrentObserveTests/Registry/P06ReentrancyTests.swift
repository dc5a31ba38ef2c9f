// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P6 Re-entrancy")
    struct P06ReentrancyTests {}
}

// MARK: - Observing in a callback

extension Promises.P06ReentrancyTests {
    @Test("P6 An observer added in a callback is not called for that event, but for the next", arguments: [1, 100])
    func addedInACallback(count: Int) {
        let registry = ObserverRegistry<Int>()
        let tokens = Log<ObservationToken>()
        let received = Log<Int>()
        let token = registry.observe { event in
            guard event == 1 else { return }
            for _ in 0..<count { tokens.append(registry.observe { received.append($0) }) }
        }
        registry.notify(1)
        #expect(received.count == 0)
        #expect(registry.observationCount == 1 + count)
        registry.notify(2)
        #expect(received.entries == Array(repeating: 2, count: count))
        token.cancel()
    }

    @Test("P6 An observer added in a callback receives the notifications that begin inside that callback")
    func addedBeforeANestedOne() {
        let registry = ObserverRegistry<Int>()
        let tokens = Log<ObservationToken>()
        let received = Log<Int>()
        let token = registry.observe { event in
            guard event == 1 else { return }
            tokens.append(registry.observe { received.append($0) })
            registry.notify(2)
        }
        registry.notify(1)
        #expect(received.entries == [2])
        token.cancel()
    }
}

// MARK: - Ending in a callback

extension Promises.P06ReentrancyTests {
    /// The ways in which the table changes between the cancellation and the place of the cancelled
    /// observer.
    enum Growth: String, CaseIterable, Sendable {
        case none, grown, compacted, inANestedNotification
    }

    @Test("P6 An observer cancelled earlier in the same pass is not called later in it", arguments: Growth.allCases)
    func cancelledSibling(growth: Growth) {
        let registry = ObserverRegistry<Int>()
        let tokens = Log<ObservationToken>()
        let received = Log<String>()
        let sibling = Slot<ObservationToken>()
        let first = registry.observe { event in
            guard event == 1 else { return }
            if growth == .inANestedNotification { return registry.notify(2) }
            sibling.value?.cancel()
            switch growth {
            case .grown:
                for _ in 0..<100 { tokens.append(registry.observe { _ in }) }
            case .compacted:
                // Full of the dead, then full again: the next table holds only the living.
                for _ in 0..<100 { _ = registry.observe { _ in } }
            case .none, .inANestedNotification:
                break
            }
        }
        let second = registry.observe { event in
            if event == 2 { sibling.value?.cancel() }
        }
        sibling.put(registry.observe { received.append("cancelled \($0)") })
        let last = registry.observe { received.append("last \($0)") }
        registry.notify(1)
        #expect(received.entries == (growth == .inANestedNotification ? ["last 2", "last 1"] : ["last 1"]))
        #expect(sibling.value?.isActive == false)
        withExtendedLifetime((first, second, last)) {}
    }

    @Test("P6 A callback ends its own observation through the handle, the token, or by dropping the token")
    func endsItself() throws {
        let lives = Lives()
        let registry = ObserverRegistry<Int>()
        let received = Log<String>()
        let wasActive = Log<Bool>()
        let byToken = Slot<ObservationToken>()
        let byDropping = Slot<ObservationToken>()
        let (life1, life2, life3) = (Slot(lives.make()), Slot(lives.make()), Slot(lives.make()))
        let byHandle = registry.observe { [life = life1.take()] event, observation in
            wasActive.append(observation.isActive)
            observation.cancel()
            wasActive.append(observation.isActive)
            received.append("handle \(event)")
            life?.touch()
        }
        byToken.put(
            registry.observe { [life = life2.take()] event in
                byToken.value?.cancel()
                received.append("token \(event)")
                life?.touch()
            }
        )
        byDropping.put(
            registry.observe { [life = life3.take()] event in
                byDropping.clear()
                received.append("dropping \(event)")
                life?.touch()
            }
        )
        let last = registry.observe { received.append("last \($0)") }
        registry.notify(1)
        registry.notify(2)
        #expect(received.entries == ["handle 1", "token 1", "dropping 1", "last 1", "last 2"])
        #expect(wasActive.entries == [true, false])
        #expect(!byHandle.isActive)
        #expect(registry.observationCount == 1)
        try lives.waitUntilNoneIsLeft()
        last.cancel()
    }

    @Test("P6 A callback that removes all silences the rest of the pass")
    func removesAll() {
        let registry = ObserverRegistry<Int>()
        let received = Log<Int>()
        let tokens = [
            registry.observe { event in
                received.append(event)
                registry.cancelAllObservations()
            },
            registry.observe { received.append($0 * 10) },
        ]
        registry.notify(1)
        #expect(received.entries == [1])
        #expect(tokens.allSatisfy { !$0.isActive })
        let fresh = registry.observe { received.append($0 * 100) }
        registry.notify(2)
        #expect(received.entries == [1, 200])
        fresh.cancel()
    }

    @Test("P6 A callback may drop the last reference to the source")
    func dropsTheSource() throws {
        let lives = Lives()
        let source = Slot(ObserverRegistry<Int>())
        let ends = Log<ObservationEnd>()
        let received = Log<Int>()
        var tokens: [ObservationToken] = []
        for index in 0..<3 {
            let life = Slot(lives.make())
            tokens.append(
                source.value!.observe { [life = life.take()] _ in
                    received.append(index)
                    source.clear()
                    life?.touch()
                }
            )
        }
        for token in tokens { token.onEnd { ends.append($0) } }
        try onNewThread { source.take()?.notify(1) }
        try lives.waitUntilNoneIsLeft()
        // The notification itself keeps the source while it runs.
        #expect(received.entries == [0, 1, 2])
        try eventually("three ends") { ends.count == 3 }
        #expect(ends.entries == [.sourceDeleted, .sourceDeleted, .sourceDeleted])
        #expect(tokens.allSatisfy { !$0.isActive })
    }
}

// MARK: - Notifying in a callback

extension Promises.P06ReentrancyTests {
    @Test("P6 A bounded exchange of notifications between two registries ends")
    func mutual() {
        let ping = ObserverRegistry<Int>()
        let pong = ObserverRegistry<Int>()
        let received = Log<Int>()
        let tokens = [
            ping.observe { count in
                received.append(count)
                if count < 20 { pong.notify(count + 1) }
            },
            pong.observe { count in
                received.append(count)
                if count < 20 { ping.notify(count + 1) }
            },
        ]
        ping.notify(0)
        #expect(received.entries == Array(0...20))
        withExtendedLifetime(tokens) {}
    }

    @Test("P6 A nested notification of the same registry reaches every observer, then the outer one goes on")
    func nested() {
        let registry = ObserverRegistry<Int>()
        let received = Log<String>()
        let tokens = [
            registry.observe { event in
                received.append("first \(event)")
                if event == 1 { registry.notify(2) }
            },
            registry.observe { received.append("second \($0)") },
        ]
        registry.notify(1)
        #expect(received.entries == ["first 1", "first 2", "second 2", "second 1"])
        withExtendedLifetime(tokens) {}
    }

    @Test("P6 A callback that ends its task does not stop the other observers")
    func endsItsTask() async {
        let registry = ObserverRegistry<Int>()
        let received = Counter()
        let task = Slot<Task<Bool, Never>>()
        let started = Signal("the task is known")
        let tokens = [
            registry.observe { _ in task.value?.cancel() },
            registry.observe { _ in received.increment() },
            registry.observe { _ in received.increment() },
        ]
        task.put(
            Task {
                try? await started.arrival()
                registry.notify(1)
                return Task.isCancelled
            }
        )
        started.happen()
        #expect(await task.value?.value == true)
        #expect(received.value == 2)
        withExtendedLifetime(tokens) {}
    }
}
