// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P12 The end of a path's root")
    struct P12PathDeathTests {}
}

extension Promises.P12PathDeathTests {
    @Test("P12 Each live observer receives sourceDeleted once, last, whatever its options and the length of its path")
    func once() throws {
        let fleet = Slot(Fleet(Car(1), best: Car(2)))
        let car = fleet.value!.car.value
        let (received, optional) = ((0..<4).map { _ in ReceivedChanges<Int>() }, ReceivedChanges<Int?>())
        let options: [ObservationOptions] = [[], .initial, .prior, [.initial, .prior]]
        var tokens = options.indices.map {
            fleet.value!.observe(\.car.axle.wheel.pressure, received[$0], options: options[$0]).recordEnd(
                to: received[$0]
            )
        }
        tokens.append(fleet.value!.observe(\.best.second.wheel.pressure, optional).recordEnd(to: optional))
        car.setPressure(3)
        let before = received.map(\.lines)
        #expect(before.allSatisfy { $0.last == "valueChanged 1 → 3 @1" })
        fleet.clear()
        #expect(tokens.allSatisfy { !$0.isActive })
        // The objects on the way may live on: none of their changes is delivered any more.
        car.setPressure(4)
        car.axle.value = Axle(5)
        for received in received { try received.ended.wait() }
        try optional.ended.wait()
        try Process.settle()
        #expect(received.map(\.lines) == before.map { $0 + ["sourceDeleted"] })
        #expect(optional.lines == ["sourceDeleted"])
    }

    @Test("P12 Cancelled before, in every way: silence, and onEnd receives cancelled")
    func cancelledBefore() throws {
        let car = Slot(Car(1))
        let received = ReceivedChanges<Int>()
        let ends = Log<ObservationEnd>()
        let tokens = (0..<3).map { _ in Slot(car.value!.observe(\.axle.wheel.pressure, received)) }
        for token in tokens { token.value!.onEnd { ends.append($0) } }
        tokens[0].value!.cancel()
        tokens[1].clear()
        tokens[2].value!.cancelAndWaitBlocking()
        car.clear()
        try eventually("the ends") { ends.count >= 3 }
        try Process.settle()
        #expect(received.count == 0)
        #expect(ends.entries == [.cancelled, .cancelled, .cancelled])
    }

    @Test("P12 A token outlives the root: ending it then does nothing")
    func tokenOutlives() throws {
        let car = Slot(Car(1))
        let received = ReceivedChanges<Int>()
        let token = Slot(car.value!.observe(\.axle.wheel.pressure, received).recordEnd(to: received))
        car.clear()
        token.value!.cancel()
        try onNewThread { token.value!.cancelAndWaitBlocking() }
        token.clear()
        try received.ended.wait()
        try Process.settle()
        #expect(received.lines == ["sourceDeleted"])
    }

    /// The delivery that is running when the root dies.
    enum Delivery: String, CaseIterable, Sendable { case change, replacement, prior }

    @Test(
        "P12 With a callback in flight on another thread the end is delivered after it, once",
        arguments: Delivery.allCases
    )
    func inFlight(delivery: Delivery) throws {
        let car = Slot(Car(1))
        let axle = car.value!.axle.value
        let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
        let received = ReceivedChanges<Int>()
        let options: ObservationOptions = delivery == .prior ? .prior : []
        let token = car.value!.observe(\.axle.wheel.pressure, options: options) { (change: Change<Int>) in
            entered.happen()
            exit.hold()
            received.append(change)
        }
        token.recordEnd(to: received)
        let writer = TestThread {
            if delivery == .replacement { axle.wheel.value = Wheel(2) } else { axle.wheel.value.pressure.value = 2 }
        }
        try entered.wait()
        // Who drops the root does not wait for the callback.
        #expect(anotherThreadFinishes { car.clear() })
        #expect(!received.ended.happens(within: glance))
        #expect(received.lines.isEmpty)
        exit.happen()
        try writer.join()
        try received.ended.wait()
        #expect(!token.isActive)
        // A change after the root's end is not delivered.
        axle.wheel.value.pressure.value = 3
        try Process.settle()
        let last =
            switch delivery {
            case .change: "valueChanged 1 → 2 @1"
            case .replacement: "pathChanged(depth: 1) 1 → 2 @1"
            case .prior: "prior - → 1 @0"
            }
        #expect(received.lines == [last, "sourceDeleted"])
    }

    @Test("P12 The root goes on one thread while others replace steps and change the end: the end is the last")
    func lastOfMany() throws {
        for _ in 0..<150 {
            let car = Slot(Car(0))
            let axle = car.value!.axle.value
            let received = (0..<2).map { _ in ReceivedChanges<Int>() }
            let options: [ObservationOptions] = [[], .prior]
            let tokens = received.indices.map {
                car.value!.observe(\.axle.wheel.pressure, received[$0], options: options[$0]).recordEnd(
                    to: received[$0]
                )
            }
            try onThreads(3) { thread in
                for round in 0..<20 {
                    switch thread {
                    case 0: if round == 10 { car.clear() }
                    case 1: axle.wheel.value = Wheel(round)
                    default: axle.wheel.value.pressure.value = -round
                    }
                }
            }
            for received in received {
                try received.ended.wait()
                #expect(received.ends == [.sourceDeleted])
                #expect(received.lines.last == "sourceDeleted")
                #expect(received.mistakes(from: 0).isEmpty)
            }
            withExtendedLifetime(tokens) {}
        }
        try Process.settle()
    }

    @Test("P12 Cancelled at the moment of the root's end: it ends once, in one of the two ways", arguments: 0..<2)
    func race(waiting: Int) throws {
        for _ in 0..<200 {
            let car = Slot(Car(0))
            let received = ReceivedChanges<Int>()
            let ends = Log<ObservationEnd>()
            let token = car.value!.observe(\.axle.wheel.pressure, received)
            token.onEnd { ends.append($0) }
            try onThreads(2) { thread in
                if thread == 0 { return car.clear() }
                if waiting == 0 { token.cancel() } else { token.cancelAndWaitBlocking() }
            }
            try eventually("the end") { ends.count > 0 }
            #expect([[.sourceDeleted], [.cancelled]].contains(ends.entries))
            #expect(received.count == 0)
        }
        try Process.settle()
    }

    @Test("P12 P14 The closures die promptly with the root, without further traffic")
    func everythingDies() throws {
        try expectPromptly(
            {
                let lives = Lives()
                let car = Car(Axle(Wheel(1, life: lives.make()), life: lives.make()), life: lives.make())
                let life = lives.make()
                let token = car.observe(\.axle.wheel.pressure) { (_: Change<Int>) in life.touch() }
                return (lives, token)
            },
            end: { _ in }
        )
    }
}
