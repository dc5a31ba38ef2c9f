// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P7 Blocking callbacks: paths")
    struct P07PathBlockingTests {}
}

extension Promises.P07PathBlockingTests {
    /// The delivery that blocks the callback.
    enum Delivery: String, CaseIterable, Sendable { case initial, prior, change, replacement }

    @Test("P7 A callback that blocks holds up neither another path nor its own", arguments: Delivery.allCases)
    func blocked(delivery: Delivery) throws {
        let car = Car(0)
        let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
        let hasBlocked = Flag()
        let (received, other) = (ReceivedChanges<Int>(), ReceivedChanges<Int>())
        let tokens = Log<ObservationToken>()
        let body: @Sendable (Change<Int>) -> Void = { change in
            let isIt =
                switch (delivery, change.reason) {
                case (.initial, .initial), (.replacement, .pathChanged): true
                case (.prior, .prior), (.change, .valueChanged): true
                default: false
                }
            if !hasBlocked.isSet, isIt {
                hasBlocked.set()
                entered.happen()
                exit.hold()
            }
            received.append(change)
        }
        tokens.append(car.observe(\.axle.wheel.pressure, other))
        let options: ObservationOptions = [.initial, .prior]
        let blocked = TestThread {
            tokens.append(car.observe(\.axle.wheel.pressure, options: options, body))
            switch delivery {
            case .initial: break
            case .prior, .change: car.setPressure(1)
            case .replacement: car.axle.value = Axle(1)
            }
        }
        try entered.wait()
        let seen = (received.count, other.count)
        let goesOn = anotherThreadFinishes {
            car.axle.value.wheel.value = Wheel(10)
            car.setPressure(11)
            car.axle.value = Axle(20)
            car.setPressure(21)
        }
        #expect(goesOn)
        // While it blocks, changes of both paths are delivered: replacements of both steps, and the
        // changes of the new ends.
        let expected = [
            "pathChanged(depth: 1) 10", "valueChanged 11", "pathChanged(depth: 0) 20", "valueChanged 21",
        ]
        func summary(_ changes: ArraySlice<Change<Int>>) -> [String] {
            changes.filter { $0.reason != .prior }.map { "\($0.reason) \($0.new)" }
        }
        #expect(summary(received.changes[seen.0...]) == expected)
        #expect(summary(other.changes[seen.1...]) == expected)
        exit.happen()
        try blocked.join()
        #expect(received.mistakes(from: 0).isEmpty)
        #expect(other.mistakes(from: 0).isEmpty)
        #expect(received.chain.last?.new == 21)
        for token in tokens.entries { #expect(waitsForTheEnd(of: token)) }
        try Process.settle()
    }

    @Test("P7 While one path's callback blocks, others through the same objects are registered, ended and waited for")
    func churn() throws {
        let car = Car(0)
        let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
        let lives = Lives()
        let token = car.observe(\.axle.wheel.pressure) { (_: Change<Int>) in
            entered.happen()
            exit.hold()
        }
        let blocked = TestThread { car.axle.value = Axle(1) }
        try entered.wait()
        let goesOn = anotherThreadFinishes {
            token.cancel()
            for round in 0..<50 {
                let life = lives.make()
                let received = ReceivedChanges<Int>()
                let other = car.observe(\.axle.wheel.pressure, options: .initial) { (change: Change<Int>) in
                    life.touch()
                    received.append(change)
                }
                car.axle.value = Axle(round)
                car.setPressure(-round)
                #expect(received.count == 3)
                #expect(other.cancelAndWaitBlocking() == .finished)
            }
        }
        #expect(goesOn)
        #expect(lives.alive == 0)
        exit.happen()
        try blocked.join()
        #expect(waitsForTheEnd(of: token))
    }

    @Test("P7 An object that goes with a replacement, and whose own observer blocks, does not hold up the path")
    func blockedByWhatGoes() throws {
        let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
        let inner = Gauge(Gauge.Part(1))
        let root = Gauge(Gauge.Part(0), other: Gauge(Gauge.Part(0), other: inner))
        let received = ReceivedChanges<Int?>()
        let token = root.observe(\.other.other.part.number, received)
        // Keeps nothing: what the path goes through dies with its replacement.
        let going = Weak(root.other.value!.other)
        let end = going.object!.observe { (_: Change<Gauge?>) in }.onEnd { _ in
            entered.happen()
            exit.hold()
        }
        let middle = Weak(root.other.value!)
        let replacing = TestThread {
            // While this thread relinks the path, its first step is replaced, and nothing but the
            // path is left of the second.
            inner.part.value = Gauge.Part(2) {
                root.other.value = Gauge(Gauge.Part(0), other: Gauge(Gauge.Part(3)))
                // Or the path's thread keeps it, and releases it in time.
                let begin = ContinuousClock.now
                while middle.object != nil, ContinuousClock.now - begin < glance { briefPause() }
            }
        }
        try entered.wait()
        let goesOn = anotherThreadFinishes {
            root.other.value = Gauge(Gauge.Part(0), other: Gauge(Gauge.Part(4)))
            root.other.value!.other.value!.part.value.number.value = 5
        }
        #expect(goesOn)
        #expect(received.chain.last?.new == 5)
        exit.happen()
        try replacing.join()
        #expect(received.mistakes(from: 1).isEmpty)
        withExtendedLifetime((token, end)) {}
        try Process.settle()
    }
}
