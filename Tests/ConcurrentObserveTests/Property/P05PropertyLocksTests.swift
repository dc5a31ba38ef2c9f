// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P5 No user code under our locks: properties")
    struct P05PropertyLocksTests {}
}

// MARK: - User code holds nothing

extension Promises.P05PropertyLocksTests {
    /// A place where the library runs user code.
    enum Place: String, CaseIterable, Sendable {
        case initial, prior, callback, observeValues, withValue, comparison, duplicates, onEnd, captureDeinit,
            valueDeinit
        case exchangedDeinit, refusedDeinit

        /// Makes the library run `userCode` in this place, once.
        func run(_ property: Observed<Compared>, _ userCode: @escaping @Sendable () -> Void) throws {
            let steps = Counter()
            let code: @Sendable () -> Void = { if steps.increment() == 1 { userCode() } }
            let lives = Lives()
            let tokens = Log<ObservationToken>()
            switch self {
            case .initial: tokens.append(property.observe(options: .initial) { (_: Change<Compared>) in code() })
            case .prior:
                tokens.append(property.observe(options: .prior) { (_: Change<Compared>) in code() })
                property.value = Compared(1)
            case .callback:
                tokens.append(property.observe { (_: Change<Compared>) in code() })
                property.modify { $0 = Compared(1) }
            case .observeValues:
                tokens.append(property.observeValues { _ in code() })
                property.exchange(Compared(1))
            case .withValue: property.withValue { _ in code() }
            case .comparison:
                property.compareExchange(expected: Compared(-1, atComparison: code), desired: Compared(2))
            case .duplicates:
                tokens.append(property.removingDuplicates().observe { _ in })
                property.value = Compared(1, atComparison: code)
            case .onEnd:
                let token = property.observe { (_: Change<Compared>) in }
                token.onEnd { _ in code() }
                token.cancel()
            case .captureDeinit:
                let life = Slot(lives.make(atDeath: code))
                tokens.append(property.observe { [life = life.take()] (_: Change<Compared>) in life?.touch() })
                tokens.entries[0].cancel()
            case .valueDeinit:
                property.value = Compared(1, life: lives.make(atDeath: code))
                property.value = Compared(2)
            case .exchangedDeinit:
                property.value = Compared(1, life: lives.make(atDeath: code))
                _ = property.exchange(Compared(2))
            case .refusedDeinit:
                property.compareExchange(
                    expected: Compared(-1),
                    desired: Compared(1, life: lives.make(atDeath: code))
                )
            }
            try lives.waitUntilNoneIsLeft()
        }
    }

    @Test("P5 While user code runs, it and other threads do everything on the same property", arguments: Place.allCases)
    func nothingIsHeld(place: Place) throws {
        let property = Observed(Compared(0))
        let everything: @Sendable () -> Void = {
            let token = property.observe(options: [.initial, .prior]) { (_: Change<Compared>) in }
            property.value = Compared(10)
            property.exchange(Compared(11))
            property.modify { $0 = Compared(12) }
            property.compareExchange(expected: Compared(12), desired: Compared(13))
            _ = (property.value, property.snapshot(), property.version, property.withValue { $0.number })
            token.cancel()
        }
        let done = Signal("the user's code")
        let finished = Log<Bool>()
        try onNewThread {
            try? place.run(property) {
                everything()
                finished.append(
                    anotherThreadFinishes {
                        everything()
                        let token = property.observe { (_: Change<Compared>) in }
                        #expect(token.cancelAndWaitBlocking() == .finished)
                    }
                )
                done.happen()
            }
        }
        try done.wait()
        #expect(finished.entries == [true])
        try Process.settle()
    }

    @Test("P5 All of that counts as inside a callback", arguments: Place.allCases)
    func insideACallback(place: Place) throws {
        // The user's own thread destroys what it alone still has.
        guard place != .exchangedDeinit, place != .refusedDeinit else { return }
        let property = Observed(Compared(0))
        let victim = Observed(0).observe { (_: Change<Int>) in }
        let done = Signal("the user's code")
        let outcomes = Log<WaitOutcome>()
        try onNewThread {
            try? place.run(property) {
                outcomes.append(victim.cancelAndWaitBlocking())
                done.happen()
            }
        }
        try done.wait()
        #expect(outcomes.entries == [.deferred])
        #expect(victim.cancelAndWaitBlocking() == .finished)
    }
}

// MARK: - Where values are destroyed

extension Promises.P05PropertyLocksTests {
    @Test("P5 Who replaces a value does not destroy it, with observers or without", arguments: [0, 3], [false, true])
    func threadOfDestruction(observers: Int, modifying: Bool) throws {
        let lives = Lives()
        let writer = Log<Int>()
        let rounds = 50
        try onNewThread {
            writer.append(threadNumber())
            let property = Observed<Life?>(nil)
            let options: [ObservationOptions] = [[], .prior, [.initial, .prior]]
            let tokens = options.prefix(observers).map { property.observe(options: $0) { (_: Change<Life?>) in } }
            for _ in 0..<rounds {
                if modifying { property.modify { $0 = lives.make() } } else { property.value = lives.make() }
            }
            property.value = nil
            // Until all have died this thread must exist: otherwise its number could be given to
            // another.
            _ = try? lives.waitUntilNoneIsLeft()
            withExtendedLifetime(tokens) {}
        }
        #expect(lives.dead == rounds)
        #expect(!lives.deathThreads.contains(writer.entries[0]))
    }

    @Test("P5 What compareExchange has found is destroyed outside the lock when it compares again")
    func foundAndReplaced() throws {
        let lives = Lives()
        let property = Slot<Observed<Compared>>()
        let comparisons = Counter()
        let finished = Log<Bool>()
        let expected = Compared(1) {
            guard comparisons.increment() == 1 else { return }
            // Replaced, and reclaimed, while it is being compared: the only copy left is the one
            // that was found.
            property.value!.value = Compared(1)
            let isReclaimed = anotherThreadFinishes { _ = try? Process.settle() }
            finished.append(isReclaimed && lives.alive == 1)
        }
        property.put(
            Observed(
                Compared(
                    1,
                    life: lives.make {
                        finished.append(anotherThreadFinishes { property.value!.modify { _ in } })
                    }
                )
            )
        )
        let (exchanged, _) = property.value!.compareExchange(expected: expected, desired: Compared(2))
        #expect(exchanged)
        #expect(finished.entries == [true, true])
        #expect(property.value!.value.number == 2)
        property.clear()
        try lives.waitUntilNoneIsLeft()
    }
}
