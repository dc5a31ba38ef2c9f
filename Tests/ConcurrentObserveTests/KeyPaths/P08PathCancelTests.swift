// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P8, P9, P10 The end of a path's observation")
    struct P08PathCancelTests {}
}

// MARK: - cancel(), the token

extension Promises.P08PathCancelTests {
    /// A way to end an observation from outside.
    enum Way: String, CaseIterable, Sendable { case cancel, cancelAndWait, drop }

    @Test(
        "P8 P9 P10 After it nothing is delivered from any step; onEnd receives cancelled, once",
        arguments: Way.allCases
    )
    func ended(way: Way) throws {
        let car = Car(0)
        let lives = Lives()
        let received = ReceivedChanges<Int>()
        let ends = Log<ObservationEnd>()
        let token = Slot<ObservationToken>()
        do {
            let life = lives.make()
            token.put(
                car.observe(\.axle.wheel.pressure, options: .prior) { (change: Change<Int>) in
                    life.touch()
                    received.append(change)
                }
            )
        }
        token.value!.onEnd { ends.append($0) }
        #expect(token.value!.isActive)
        car.setPressure(1)
        #expect(received.count == 2)
        switch way {
        case .cancel:
            token.value!.cancel()
            token.value!.cancel()
            #expect(!token.value!.isActive)
        case .cancelAndWait:
            #expect(token.value!.cancelAndWaitBlocking() == .finished)
            #expect(lives.alive == 0)
            #expect(ends.entries == [.cancelled])
        case .drop: token.clear()
        }
        car.setPressure(2)
        car.axle.value.wheel.value = Wheel(3)
        car.axle.value = Axle(4)
        #expect(received.count == 2)
        try lives.waitUntilNoneIsLeft()
        try eventually("the end") { ends.count > 0 }
        try Process.settle()
        #expect(ends.entries == [.cancelled])
    }

    @Test("P10 A token that is not kept sees nothing")
    func unassigned() {
        let car = Car(0)
        let received = ReceivedChanges<Int>()
        _ = car.observe(\.axle.wheel.pressure, received)
        car.setPressure(1)
        car.axle.value = Axle(2)
        #expect(received.count == 0)
    }

    @Test("P8 The callback that receives its observation ends it, in each delivery", arguments: 0..<4)
    func endsItself(delivery: Int) {
        let car = Slot(Car(0))
        let received = ReceivedChanges<Int>()
        let token = car.value!.property(\.axle.wheel.pressure).observe(options: [.initial, .prior]) {
            change,
            observation in
            received.append(change)
            let isIt =
                switch change.reason {
                case .initial: delivery == 0
                case .prior: delivery == 1
                case .valueChanged: delivery == 2
                case .pathChanged: delivery == 3
                }
            if isIt { observation.cancel() }
        }
        car.value!.setPressure(1)
        car.value!.axle.value = Axle(2)
        car.value!.setPressure(3)
        car.clear()
        #expect(received.count == delivery + 1)
        #expect(!token.isActive)
    }

    @Test("P10 The last reference to the token is dropped in the path's own callback")
    func droppedInside() throws {
        let car = Car(0)
        let received = ReceivedChanges<Int>()
        let token = Slot<ObservationToken>()
        token.put(
            car.observe(\.axle.wheel.pressure) { (change: Change<Int>) in
                received.append(change)
                token.clear()
            }
        )
        car.axle.value = Axle(1)
        car.setPressure(2)
        #expect(received.count == 1)
        try Process.settle()
    }

    @Test("P8 A path is cancelled by the callback of another that shares its end: not called later in that pass")
    func cancelsAnother() {
        let car = Car(0)
        let received = ReceivedChanges<Int>()
        let victim = Slot<ObservationToken>()
        let first = car.observe(\.axle.wheel.pressure) { (_: Change<Int>) in victim.value!.cancel() }
        victim.put(car.observe(\.axle.wheel.pressure, received))
        car.setPressure(1)
        car.axle.value = Axle(2)
        #expect(received.count == 0)
        withExtendedLifetime(first) {}
    }

    @Test("P8 Ended right after the start, by two threads, among writers of all steps: nothing is left")
    func rightAfterTheStart() throws {
        let car = Car(0)
        let lives = Lives()
        let steps = Counter()
        let writers = Hammer(threads: 1) {
            let step = steps.increment()
            if step % 3 == 0 { car.axle.value = Axle(step) } else { car.setPressure(step) }
        }
        try writers.waitUntilWarm()
        let ends = Counter()
        try onThreads(2) { _ in
            for _ in 0..<500 {
                let life = lives.make()
                let token = car.observe(\.axle.wheel.pressure) { (_: Change<Int>) in life.touch() }
                token.onEnd { _ in ends.increment() }
                token.cancel()
            }
        }
        try writers.stop()
        try lives.waitUntilNoneIsLeft()
        try eventually("the ends") { ends.value == 1000 }
    }
}

// MARK: - cancelAndWait()

extension Promises.P08PathCancelTests {
    @Test("P9 It waits for the path's callback, of the end's change and of a replacement", arguments: [false, true])
    func waits(replacing: Bool) throws {
        let car = Car(0)
        let lives = Lives()
        let (entered, exit, hasReturned) = (Signal("the callback"), Signal("the callback's release"), Flag())
        let token: ObservationToken
        do {
            let life = lives.make()
            token = car.observe(\.axle.wheel.pressure) { (_: Change<Int>) in
                life.touch()
                entered.happen()
                exit.hold()
                hasReturned.set()
            }
        }
        let caller = TestThread { if replacing { car.axle.value = Axle(1) } else { car.setPressure(1) } }
        try entered.wait()
        let mistakes = Log<String>()
        let returned = Signal("a return")
        let waiter = TestThread {
            if token.cancelAndWaitBlocking() != .finished { mistakes.append("not finished") }
            if !hasReturned.isSet { mistakes.append("the callback is running") }
            if lives.alive > 0 { mistakes.append("the closure exists") }
            returned.happen()
        }
        #expect(!returned.happens(within: glance))
        exit.happen()
        for thread in [waiter, caller] { try thread.join() }
        #expect(mistakes.entries.isEmpty)
    }

    @Test("P9 After it nothing runs, among writers of all steps")
    func nothingRuns() throws {
        let car = Car(0)
        let steps = Counter()
        let writers = Hammer(threads: 2) {
            let step = steps.increment()
            switch step % 5 {
            case 0: car.axle.value = Axle(step)
            case 1: car.axle.value.wheel.value = Wheel(step)
            default: car.setPressure(step)
            }
        }
        try writers.waitUntilWarm()
        let late = Counter()
        for _ in 0..<150 {
            let (isOver, calls) = (Flag(), Counter())
            let token = car.observe(\.axle.wheel.pressure, options: [.initial, .prior]) { (_: Change<Int>) in
                calls.increment()
                if isOver.isSet { late.increment() }
            }
            while calls.value < 2 { briefPause() }
            token.cancelAndWaitBlocking()
            isOver.set()
        }
        try writers.stop()
        #expect(late.value == 0)
        try Process.settle()
    }

    @Test("P9 In the path's own callback it is deferred, and the end comes when that has returned")
    func deferred() throws {
        let car = Car(0)
        let lives = Lives()
        let outcomes = Log<WaitOutcome>()
        let token = Slot<ObservationToken>()
        do {
            let life = lives.make()
            token.put(
                car.observe(\.axle.wheel.pressure) { (_: Change<Int>) in
                    life.touch()
                    outcomes.append(token.value!.cancelAndWaitBlocking())
                }
            )
        }
        try onNewThread { car.axle.value = Axle(1) }
        try lives.waitUntilNoneIsLeft()
        #expect(outcomes.entries == [.deferred])
        token.clear()
    }

    @Test("P9 The asynchronous form suspends until the callback has returned")
    func asynchronous() async throws {
        let car = Car(0)
        let (entered, exit, hasReturned) = (Signal("the callback"), Signal("the callback's release"), Flag())
        let token = car.observe(\.axle.wheel.pressure) { (_: Change<Int>) in
            entered.happen()
            exit.hold()
            hasReturned.set()
        }
        let writer = TestThread { car.axle.value = Axle(1) }
        try await entered.arrival()
        let waiting = Task { (await token.cancelAndWait(), hasReturned.isSet) }
        try await eventuallyAsync("the cancellation") { !token.isActive }
        exit.happen()
        let (outcome, isOver) = await waiting.value
        #expect(outcome == .finished)
        #expect(isOver)
        try writer.join()
    }
}
