// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    @Suite("P8 Ends at once")
    struct P08SimultaneousEndsTests {}
}

/// The sources, the deliveries and the owners of a test.
private struct Ground: Sendable {
    struct Sources: Sendable {
        let property = Observed(0)
        let other = Observed(0)
        let car = Car(0)
    }

    /// The sources, until they die.
    let sources = Slot<Sources>()
    let owner = Lives().make()
    let received = Counter()

    init() { sources.put(Sources()) }

    var property: Observed<Int> { sources.value!.property }
    var other: Observed<Int> { sources.value!.other }
    var car: Car { sources.value!.car }
}

/// A kind of observation. `Ground.property` or `Ground.car` ends each kind.
private enum Kind: CaseIterable {
    case inline, serial, queue, path, serialPath, group, serialGroup, pair, pairFromTheOtherSide

    func observe(_ ground: Ground) -> ObservationToken {
        let (property, owner, received) = (ground.property, ground.owner, ground.received)
        let note = { @Sendable (_: Life, _: Change<Int>) in _ = received.increment() }
        return switch self {
        case .inline: property.observe(owner: owner, note)
        case .serial: property.observe(owner: owner, delivery: .serial(), note)
        case .queue: property.observe(owner: owner, delivery: .queue(.global()), note)
        case .path: ground.car.property(\.axle.wheel.pressure).observe(owner: owner, note)
        case .serialPath: ground.car.property(\.axle.wheel.pressure).observe(owner: owner, delivery: .serial(), note)
        case .group: Group(property, ground.other).observe(owner: owner) { _, _ in _ = received.increment() }
        case .serialGroup:
            Group(property, ground.other).observe(owner: owner, delivery: .serial()) { _, _ in _ = received.increment()
            }
        case .pair: property.bindBidirectionally(with: ground.other)
        case .pairFromTheOtherSide: ground.other.bindBidirectionally(with: property)
        }
    }

    var isOfPath: Bool { self == .path || self == .serialPath }
    var isOfPair: Bool { self == .pair || self == .pairFromTheOtherSide }

    /// Makes a change that the observation would receive. Returns whether it was received inline.
    func change(_ ground: Ground) -> Bool {
        let before = ground.received.value
        if isOfPath { ground.car.setPressure(7) } else { ground.property.value = 7 }
        return isOfPair ? ground.other.value == 7 : ground.received.value != before
    }
}

/// A way to end observations.
private enum End: CaseIterable {
    case token, source, several, owner, commit, death

    /// Returns whether it ends this kind before it returns. The owner of a pair is the other side.
    /// The events in a mailbox come before the end by the source's death, and a group ends soon
    /// after its members. (P12)
    func ends(_ kind: Kind) -> Bool {
        switch self {
        case .owner: !kind.isOfPair
        case .death: kind == .inline || kind == .path || kind.isOfPair
        default: true
        }
    }

    /// Returns whether it can happen at the same time as `other`. A source does not die while
    /// another thread uses it.
    func meets(_ other: End) -> Bool {
        self != .death && other != .death || self == .token || other == .token
    }

    func end(_ kind: Kind, _ token: ObservationToken, _ ground: Ground) {
        switch (self, kind.isOfPath) {
        case (.token, _): token.cancel()
        case (.source, true): ground.car.axle.cancelAllObservations()
        case (.source, false): ground.property.cancelAllObservations()
        case (.several, true): ObservationToken.cancelAll(of: ground.car)
        case (.several, false): ObservationToken.cancelAll(of: ground.other, ground.property)
        case (.owner, true): ground.car.axle.cancelAllObservations(ownedBy: ground.owner)
        case (.owner, false): ground.property.cancelAllObservations(ownedBy: ground.owner)
        case (.commit, true):
            Group(ground.car.axle, ground.other).commit { transaction in
                transaction[ground.car.axle] = Axle(3)
                ground.car.axle.cancelAllObservations()
            }
        case (.commit, false):
            Group(ground.property, ground.other).commit { transaction in
                transaction[ground.property] = 3
                ground.property.cancelAllObservations()
            }
        case (.death, _): ground.sources.clear()
        }
    }
}

/// The state that a thread has found after its end had returned.
private struct Finding: Sendable, Hashable {
    let kind: Kind
    let ends: [End]
    let isActive: Bool
    let isReceived: Bool
}

extension Promises.P08SimultaneousEndsTests {
    @Test("P8 When one of two ends at once has returned, the observation has ended: every pair of ends, every kind")
    func pairs() throws {
        let wrong = Log<Finding>()
        let rounds = 120
        let cases = Kind.allCases.flatMap { kind in
            End.allCases.flatMap { first in End.allCases.map { (kind, [first, $0]) } }
        }.filter { kind, ends in ends.allSatisfy { $0.ends(kind) } && ends[0].meets(ends[1]) }
        // Threads of its own for each case: on a busy machine two of them meet some hundred times
        // in a second, and their end is awaited for a limited time.
        for (kind, ends) in cases {
            let line = StartingLine(2)
            let observed = (0..<rounds).map { _ in
                let ground = Ground()
                return (ground: ground, token: kind.observe(ground))
            }
            try onThreads(2) { thread in
                for (index, (ground, token)) in observed.enumerated() {
                    line.wait()
                    ends[thread].end(kind, token, ground)
                    let isActive = token.isActive
                    // One of the two: a change makes others. No thread changes what dies.
                    let isReceived = thread == index & 1 && !ends.contains(.death) && kind.change(ground)
                    if isActive || isReceived {
                        wrong.append(Finding(kind: kind, ends: ends, isActive: isActive, isReceived: isReceived))
                    }
                }
            }
        }
        #expect(Set(wrong.entries).isEmpty, "\(wrong.count) of \(cases.count * rounds) rounds")
    }

    @Test("P8 Inside callbacks and under a lock of the callers, ends at once do not wait for each other")
    func insideCallbacks() throws {
        for kind in Kind.allCases {
            let ground = Ground()
            let token = kind.observe(ground)
            let starters = [ObserverRegistry<Int>(), ObserverRegistry<Int>()]
            let ends = starters.map { starter in
                starter.observe { _ in
                    if kind.isOfPath {
                        ground.car.axle.cancelAllObservations()
                    } else {
                        ground.property.cancelAllObservations()
                    }
                    #expect(!token.isActive)
                }
            }
            try onThreads(2) { thread in starters[thread].notify(1) }
            withExtendedLifetime(ends) {}
        }
    }
}
