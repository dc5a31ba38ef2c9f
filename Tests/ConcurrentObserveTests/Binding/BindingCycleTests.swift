// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("Binding: cycles")
    struct BindingCycleTests {}
}

extension Promises.BindingCycleTests {
    @Test("P6 A ring of one-way bindings ends: each property is changed once by each change", arguments: [2, 3, 20])
    func ring(count: Int) {
        let ring = (0..<count).map { _ in Observed(0) }
        let received = (0..<count).map { _ in ReceivedChanges<Int>() }
        let tokens = (0..<count).map { ring[$0].bind(to: ring[($0 + 1) % count]) }
        let observations = (0..<count).map { ring[$0].observe(received[$0]) }
        for value in 1...10 {
            ring[value % count].value = value
            #expect(ring.allSatisfy { $0.value == value })
        }
        #expect(received.allSatisfy { $0.count == 10 })
        withExtendedLifetime((tokens, observations)) {}
    }

    @Test("P6 A ring with transforms ends: a change passes each of its bindings once")
    func transformedRing() {
        let ring = (0..<3).map { _ in Observed(0) }
        let tokens = (0..<3).map { index in ring[index].bind(to: ring[(index + 1) % 3]) { $0 + 1 } }
        let versions = ring.map { $0.version }
        ring[0].value = 10
        // Round once, and no further.
        #expect(ring.map { $0.value } == [13, 11, 12])
        #expect(zip(ring, versions).map { $0.version - $1 } == [2, 1, 1])
        withExtendedLifetime(tokens) {}
    }

    @Test("P6 Several bindings between the same two, in both directions and of both kinds, end")
    func parallelBindings() {
        let (a, b) = (Observed(0), Observed(0))
        let tokens = [
            a.bind(to: b), b.bind(to: a), a.bind(to: b), a.bindBidirectionally(with: b), b.bindBidirectionally(with: a),
        ]
        for value in 1...20 {
            if value.isMultiple(of: 2) { a.value = value } else { b.value = value }
            #expect(a.value == value)
            #expect(b.value == value)
        }
        #expect(a.version + b.version <= 20 * 6 + 10)
        withExtendedLifetime(tokens) {}
    }

    @Test("P6 A ring of two-way bindings ends, and follows from wherever it is set", arguments: [3, 4, 9])
    func ringOfPairs(count: Int) {
        let ring = (0..<count).map { _ in Observed(0) }
        let tokens = (0..<count).map { ring[$0].bindBidirectionally(with: ring[($0 + 1) % count]) }
        let versions = ring.map { $0.version }
        for value in 1...100 {
            ring[value * 7 % count].value = value
            #expect(ring.map { $0.value } == Array(repeating: value, count: count))
        }
        #expect(zip(ring, versions).allSatisfy { $0.version - $1 <= 200 })
        withExtendedLifetime(tokens) {}
    }

    @Test("P3 A chain and a diamond follow to the end")
    func acyclic() {
        let (top, left, right, bottom, below) = (Observed(1), Observed(0), Observed(0), Observed(0), Observed(0))
        let tokens = [
            top.bind(to: left) { $0 + 1 }, top.bind(to: right) { $0 + 2 },
            left.bind(to: bottom), right.bind(to: bottom), bottom.bind(to: below),
        ]
        top.value = 10
        // The second way through the diamond is another change of the bottom, and passes on, too.
        #expect(bottom.value == 12)
        #expect(below.value == 12)
        withExtendedLifetime(tokens) {}
    }

    @Test("P6 A property bound to itself is left alone; through a transform it is corrected")
    func itself() {
        let (plain, both, corrected) = (Observed(0), Observed(0), Observed(50))
        let tokens = [
            plain.bind(to: plain), both.bindBidirectionally(with: both), corrected.bind(to: corrected) { min($0, 10) },
        ]
        #expect(tokens.allSatisfy { $0.isActive })
        #expect(corrected.value == 10)
        plain.value = 1
        both.value = 1
        corrected.value = 100
        #expect(plain.snapshot() == (1, 1))
        #expect(both.snapshot() == (1, 1))
        #expect(corrected.value == 10)
        withExtendedLifetime(tokens) {}
    }

    @Test("P6 A change that a callback makes in a ring is a new one, and goes round as well")
    func newChangeInARing() {
        let (a, b, c) = (Observed(0), Observed(0), Observed(0))
        let tokens = [
            a.bind(to: b), b.bind(to: c), c.bind(to: a),
            c.observe { change in if change.new < 5 { a.value = change.new + 1 } },
        ]
        a.value = 1
        #expect([a.value, b.value, c.value] == [5, 5, 5])
        withExtendedLifetime(tokens) {}
    }

    @Test("P6 Rings with racing writers end", arguments: [false, true])
    func racingRings(pairs: Bool) throws {
        let ring = (0..<4).map { _ in Observed(0) }
        let tokens = (0..<4).map { index in
            let (from, to) = (ring[index], ring[(index + 1) % 4])
            return pairs ? from.bindBidirectionally(with: to) : from.bind(to: to)
        }
        let before = ring.reduce(0) { $0 + $1.version }
        try onThreads(4) { index in for step in 0..<2_000 { ring[index].value = index << 20 | step } }
        let changes = ring.reduce(0) { $0 + $1.version } - before
        // If no change passes a binding twice, in either direction, 8,000 make no more than this.
        #expect(changes <= 8_000 * 9, "\(changes) changes")
        withExtendedLifetime(tokens) {}
    }
}
