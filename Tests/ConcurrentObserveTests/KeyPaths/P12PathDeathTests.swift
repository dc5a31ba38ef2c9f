// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P12 The end of a path's root")
    struct P12PathDeathTests {}
}

extension Promises.P12PathDeathTests {
    @Test("P12 Each live observer hears sourceDeleted once, last, whatever its options and the length of its path")
    func once() throws {
        let fleet = Slot(Fleet(Car(1), best: Car(2)))
        let car = fleet.value!.car.value
        let (told, optional) = ((0..<4).map { _ in Told<Int>() }, Told<Int?>())
        let options: [ObservationOptions] = [[], .new, .old, [.initial, .prior]]
        var tokens = options.indices.map {
            fleet.value!.observe(\.car.axle.wheel.pressure, told[$0], options: options[$0])
        }
        tokens.append(fleet.value!.observe(\.best.second.wheel.pressure, optional))
        let ends = Log<ObservationEnd>()
        for token in tokens { token.onEnd { ends.append($0) } }
        car.setPressure(3)
        fleet.clear()
        #expect(tokens.allSatisfy { !$0.isActive })
        let counts = told.map(\.count)
        // The objects on the way may live on: nothing more is heard of them.
        car.setPressure(4)
        car.axle.value = Axle(5)
        try Process.settle()
        #expect(told.map(\.count) == counts)
        for (index, told) in told.enumerated() {
            #expect(told.changes.filter { $0.reason == .sourceDeleted }.count == 1)
            #expect(told.lines.last == "sourceDeleted \(options[index].contains(.old) ? "3" : "-") → - @1")
        }
        #expect(optional.lines == ["sourceDeleted nil → - @0"])
        #expect(ends.entries == Array(repeating: .sourceDeleted, count: 5))
    }

    @Test("P12 Cancelled before, in every way: silence, and onEnd hears cancelled")
    func cancelledBefore() throws {
        let car = Slot(Car(1))
        let told = Told<Int>()
        let ends = Log<ObservationEnd>()
        let tokens = (0..<3).map { _ in Slot(car.value!.observe(\.axle.wheel.pressure, told)) }
        for token in tokens { token.value!.onEnd { ends.append($0) } }
        tokens[0].value!.cancel()
        tokens[1].clear()
        tokens[2].value!.cancelAndWaitBlocking()
        car.clear()
        try eventually("the ends") { ends.count >= 3 }
        try Process.settle()
        #expect(told.count == 0)
        #expect(ends.entries == [.cancelled, .cancelled, .cancelled])
    }

    @Test("P12 A token outlives the root: ending it then does nothing")
    func tokenOutlives() throws {
        let car = Slot(Car(1))
        let told = Told<Int>()
        let ends = Log<ObservationEnd>()
        let token = Slot(car.value!.observe(\.axle.wheel.pressure, told))
        token.value!.onEnd { ends.append($0) }
        car.clear()
        token.value!.cancel()
        try onNewThread { token.value!.cancelAndWaitBlocking() }
        token.clear()
        try Process.settle()
        #expect(told.count == 1)
        #expect(ends.entries == [.sourceDeleted])
    }

    /// What is being delivered when the root goes.
    enum Delivery: String, CaseIterable, Sendable { case change, replacement, prior }

    @Test(
        "P12 With a callback in flight on another thread the end is told after it, once",
        arguments: Delivery.allCases
    )
    func inFlight(delivery: Delivery) throws {
        let car = Slot(Car(1))
        let axle = car.value!.axle.value
        let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
        let told = Told<Int>()
        let ends = Log<ObservationEnd>()
        let options: ObservationOptions = delivery == .prior ? .prior : [.old, .new]
        let token = car.value!.observe(\.axle.wheel.pressure, options: options) { (change: Change<Int>) in
            if change.reason != .sourceDeleted {
                entered.happen()
                exit.hold()
            }
            told.append(change)
        }
        token.onEnd { ends.append($0) }
        let writer = TestThread {
            if delivery == .replacement { axle.wheel.value = Wheel(2) } else { axle.wheel.value.pressure.value = 2 }
        }
        try entered.wait()
        // Who drops the root does not wait for the callback.
        #expect(anotherThreadFinishes { car.clear() })
        #expect(told.count == 0)
        exit.happen()
        try writer.join()
        try eventually("the end") { ends.count > 0 }
        #expect(ends.entries == [.sourceDeleted])
        #expect(told.count == 2)
        #expect(told.changes.last?.reason == .sourceDeleted)
        #expect(told.changes.last?.version == (delivery == .prior ? 0 : 1))
        #expect(told.changes.last?.old == (delivery == .prior ? 1 : 2))
        // What comes after the root's end belongs to nobody.
        axle.wheel.value.pressure.value = 3
        #expect(told.count == 2)
    }

    @Test("P12 The root goes on one thread while others replace steps and change the end: the end is the last")
    func lastOfMany() throws {
        for _ in 0..<150 {
            let car = Slot(Car(0))
            let axle = car.value!.axle.value
            let told = (0..<2).map { _ in Told<Int>() }
            let ends = Counter()
            let options: [ObservationOptions] = [[.old, .new], .prior]
            let tokens = told.indices.map {
                car.value!.observe(\.axle.wheel.pressure, told[$0], options: options[$0])
            }
            for token in tokens { token.onEnd { _ in ends.increment() } }
            try onThreads(3) { thread in
                for round in 0..<20 {
                    switch thread {
                    case 0: if round == 10 { car.clear() }
                    case 1: axle.wheel.value = Wheel(round)
                    default: axle.wheel.value.pressure.value = -round
                    }
                }
            }
            try eventually("the ends") { ends.value == 2 }
            for told in told {
                #expect(told.changes.filter { $0.reason == .sourceDeleted }.count == 1)
                #expect(told.changes.last?.reason == .sourceDeleted)
                #expect(told.mistakes(from: 0).isEmpty)
                #expect(told.changes.last?.version == UInt64(told.chain.count))
                #expect(told.changes.last?.old == told.chain.last?.new ?? 0)
            }
        }
        try Process.settle()
    }

    @Test("P12 Cancelled at the moment of the root's end: what is heard and what onEnd says agree", arguments: 0..<2)
    func race(waiting: Int) throws {
        for _ in 0..<200 {
            let car = Slot(Car(0))
            let told = Told<Int>()
            let ends = Log<ObservationEnd>()
            let token = car.value!.observe(\.axle.wheel.pressure, told)
            token.onEnd { ends.append($0) }
            try onThreads(2) { thread in
                if thread == 0 { return car.clear() }
                if waiting == 0 { token.cancel() } else { token.cancelAndWaitBlocking() }
            }
            try eventually("the end") { ends.count > 0 }
            #expect(ends.entries == [told.count == 1 ? .sourceDeleted : .cancelled])
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
