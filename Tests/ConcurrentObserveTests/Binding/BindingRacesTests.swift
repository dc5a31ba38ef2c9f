// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("Binding: races")
    struct BindingRacesTests {}
}

extension Promises.BindingRacesTests {
    /// Runs `body` for every kind of value, as types that the optimiser does not see.
    private func withEveryKind(_ body: (any Numbered.Type) throws -> Void) rethrows {
        for type in numberedTypes { try body(type) }
    }

    @Test("P3 Writers of the source have stopped: the destinations have its last value")
    func destinationFollows() throws {
        func check<Value: Numbered>(_: Value.Type) throws {
            for round in 0..<60 {
                let (source, plain, made) = (
                    Observed(Value(number: 0)), Observed(Value(number: -1)), Observed(-1)
                )
                let binding = Slot<ObservationToken>()
                let second = source.bind(to: made) { $0.number }
                try onThreads(4) { index in
                    if index == 0 { binding.put(source.bind(to: plain)) }
                    for step in 1...50 { source.value = Value(number: step * 4 + index) }
                }
                #expect(plain.value == source.value, "round \(round)")
                #expect(made.value == source.value.number, "round \(round)")
                // Each version arrives at most once.
                #expect(plain.version <= source.version + 1)
                withExtendedLifetime((binding, second)) {}
            }
        }
        try withEveryKind { try check($0) }
    }

    @Test("P3 Deliveries that overtake each other in the transform: the later version stays")
    func overtaken() throws {
        let (source, destination) = (Observed(0), Observed(0))
        let (inside, release) = (Signal("a transform that blocks"), Signal("its release"))
        let token = source.bind(to: destination) { value in
            if value == 1 {
                inside.happen()
                release.hold()
            }
            return value
        }
        let late = TestThread { source.value = 1 }
        try inside.wait()
        source.value = 2
        #expect(destination.value == 2)
        release.happen()
        try late.join()
        #expect(destination.snapshot() == (2, 2))
        withExtendedLifetime(token) {}
    }

    @Test("P3 A pair under setters on both sides converges, and each change makes at most one other")
    func pairConverges() throws {
        func check<Value: Numbered>(_: Value.Type) throws {
            for round in 0..<80 {
                let (left, right) = (Observed(Value(number: 0)), Observed(Value(number: 1)))
                let token = left.bindBidirectionally(with: right)
                let (before, steps, threads) = (left.version + right.version, 1 + round % 40, 2 + round % 3)
                try onThreads(threads) { index in
                    for step in 1...steps {
                        let value = Value(number: step * 4 + index)
                        if index & 1 == 0 { left.value = value } else { right.value = value }
                    }
                }
                #expect(left.value == right.value, "round \(round)")
                let changes = left.version + right.version - before
                #expect(changes <= UInt64(2 * threads * steps), "\(changes) changes, round \(round)")
                // Settled: what is set now arrives, in both directions.
                right.value = Value(number: 1_000)
                #expect(left.value.number == 1_000)
                left.value = Value(number: 1_001)
                #expect(right.value.number == 1_001)
                withExtendedLifetime(token) {}
            }
        }
        try withEveryKind { try check($0) }
    }

    @Test("P3 One change on each side at once: both end alike, thousands of times")
    func duels() throws {
        let (left, right) = (Observed(0), Observed(0))
        let token = left.bindBidirectionally(with: right)
        let (arrivals, differences) = (Counter(), Counter())
        let rounds = 5_000
        // On a busy machine each meeting may take a slice of the scheduler's: then fewer rounds.
        let (enough, deadline) = (Flag(), ContinuousClock.now + .seconds(8))
        try onThreads(2) { index in
            for round in 0..<rounds {
                // Three meetings in each round: before, after, and once both have been looked at.
                arrivals.increment()
                while arrivals.value < round * 6 + 2 { briefSpin() }
                if index == 0 { left.value = round * 2 + 1 } else { right.value = round * 2 + 2 }
                arrivals.increment()
                while arrivals.value < round * 6 + 4 { briefSpin() }
                if left.value != right.value || left.value / 2 < round { differences.increment() }
                if index == 0, ContinuousClock.now > deadline { enough.set() }
                arrivals.increment()
                while arrivals.value < round * 6 + 6 { briefSpin() }
                if enough.isSet { return }
            }
        }
        #expect(differences.value == 0)
        #expect(left.version + right.version <= UInt64(rounds * 4 + 1))
        withExtendedLifetime(token) {}
    }

    @Test("P3 Pairs that are bound from both ends, by two calls or more, converge", arguments: [2, 3])
    func boundFromBothEnds(calls: Int) throws {
        let (pairs, meetings) = (100, 20)
        let sides = (0..<pairs).map { _ in (Observed(0), Observed(0)) }
        let tokens = sides.flatMap { left, right in
            (0..<calls).map { call in
                call & 1 == 0 ? left.bindBidirectionally(with: right) : right.bindBidirectionally(with: left)
            }
        }
        let (line, differences) = (StartingLine(2), Counter())
        try onThreads(2) { index in
            for meeting in 0..<meetings {
                line.wait()
                for (left, right) in sides {
                    for step in 0..<3 {
                        let value = meeting * 8 + step * 2 + index
                        if index == 0 { left.value = value } else { right.value = value }
                    }
                }
                line.wait()
                guard index == 0 else { continue }
                for (left, right) in sides where left.value != right.value || left.value / 8 != meeting {
                    differences.increment()
                }
            }
        }
        #expect(differences.value == 0)
        // Each change makes one other at most, however often the pair is bound.
        for (left, right) in sides { #expect(left.version + right.version <= UInt64(meetings * 12 + calls)) }
        withExtendedLifetime(tokens) {}
    }

    @Test("P3 A pair is bound by two threads at once, from both ends, under setters: it converges")
    func boundAtOnce() throws {
        for round in 0..<300 {
            let (left, right) = (Observed(1), Observed(2))
            let tokens = (Slot<ObservationToken>(), Slot<ObservationToken>())
            try onThreads(2) { index in
                if index == 0 {
                    tokens.0.put(left.bindBidirectionally(with: right))
                    left.value = 3
                } else {
                    tokens.1.put(right.bindBidirectionally(with: left))
                    right.value = 4
                }
            }
            #expect(left.value == right.value, "round \(round)")
            withExtendedLifetime(tokens) {}
        }
    }

    @Test("P3 A chain of pairs under setters at both ends converges")
    func chainOfPairs() throws {
        for round in 0..<150 {
            let chain = (0..<4).map { Observed($0) }
            // Which side is the left one differs along the chain.
            let tokens = [
                chain[0].bindBidirectionally(with: chain[1]), chain[2].bindBidirectionally(with: chain[1]),
                chain[2].bindBidirectionally(with: chain[3]),
            ]
            try onThreads(3) { index in
                for step in 1...20 { chain[[0, 3, 1][index]].value = step * 4 + index }
            }
            #expect(Set(chain.map { $0.value }).count == 1, "round \(round): \(chain.map { $0.value })")
            withExtendedLifetime(tokens) {}
        }
    }

    @Test("P11 P12 P13 Sides and bindings that die under setters on both sides leave nothing behind")
    func deaths() throws {
        let (lives, ends) = (Lives(), Counter())
        let bindings = 300
        for round in 0..<bindings {
            let (left, right) = (Slot(Observed(lives.make())), Slot(Observed(lives.make())))
            let token = Slot(left.value!.bindBidirectionally(with: right.value!))
            token.value!.onEnd { _ in ends.increment() }
            try onThreads(3) { index in
                switch index {
                case 0: for _ in 0..<10 { left.value?.value = lives.make() }
                case 1: for _ in 0..<10 { right.value?.value = lives.make() }
                default: [{ left.clear() }, { right.clear() }, { token.clear() }][round % 3]()
                }
            }
        }
        try lives.waitUntilNoneIsLeft()
        try eventually("the end of every binding") { ends.value == bindings }
    }

    @Test("P8 P9 Cancelled under setters on both sides: after cancelAndWait neither follows")
    func cancelled() throws {
        for _ in 0..<200 {
            let (left, right) = (Observed(0), Observed(0))
            let token = left.bindBidirectionally(with: right)
            let isOver = Flag()
            try onThreads(3) { index in
                if index == 2 {
                    token.cancelAndWaitBlocking()
                    return isOver.set()
                }
                for step in 1...20 { if index == 0 { left.value = step } else { right.value = -step } }
                while !isOver.isSet { briefSpin() }
                if index == 0 { left.value = 100 } else { right.value = -100 }
            }
            #expect(left.value == 100)
            #expect(right.value == -100)
        }
    }
}

/// Lets other threads run while one thread waits for them.
private func briefSpin() { for _ in 0..<10 { _ = threadNumber() } }
