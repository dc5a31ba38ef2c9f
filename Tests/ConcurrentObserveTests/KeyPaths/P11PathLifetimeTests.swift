// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P11, P13 What paths keep, and their owners")
    struct P11PathLifetimeTests {}
}

extension Promises.P11PathLifetimeTests {
    @Test("P11 Neither observation, token nor handle keeps the root, or the objects on the way")
    func root() throws {
        let lives = Lives()
        let car = Slot(Car(Axle(Wheel(1, life: lives.make()), life: lives.make()), life: lives.make()))
        let received = ReceivedChanges<Int>()
        let handle = Slot<ObservationHandle>()
        let tokens = [
            car.value!.observe(\.axle.wheel.pressure, received, options: [.initial, .prior]),
            car.value!.property(\.axle.wheel.pressure).observe { _, observation in handle.put(observation) },
            Group(car.value!.property(\.name), car.value!.property(\.axle.wheel.pressure)).observe { _ in },
        ]
        car.value!.setPressure(2)
        let weak = Weak(car.value!)
        car.clear()
        #expect(weak.object == nil)
        #expect(tokens.dropLast().allSatisfy { !$0.isActive })
        #expect(handle.value?.isActive == false)
        // The group's observation ends on a thread of the library.
        try eventually("the end of the group's") { !tokens.last!.isActive }
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P11 P14 What is replaced goes, at each step, while the path goes on")
    func intermediates() throws {
        let lives = Lives()
        let fleet = Fleet(Car(Axle(Wheel(1, life: lives.make()), life: lives.make()), life: lives.make()))
        let received = ReceivedChanges<Int>()
        let token = fleet.observe(\.car.axle.wheel.pressure, received)
        for round in 0..<20 {
            let wheel = Wheel(round, life: lives.make())
            switch round % 3 {
            case 0: fleet.car.value.axle.value.wheel.value = wheel
            case 1: fleet.car.value.axle.value = Axle(wheel, life: lives.make())
            default: fleet.car.value = Car(Axle(wheel, life: lives.make()), life: lives.make())
            }
            // One of each.
            try eventually("the end of what was replaced") { lives.alive == 3 }
        }
        fleet.car.value = Car(0)
        try lives.waitUntilNoneIsLeft()
        #expect(received.count == 21)
        #expect(token.isActive)
    }

    @Test("P11 Values of the end are not kept either, nor is anything when the observation has ended")
    func values() throws {
        let lives = Lives()
        let box = Trunk(lives.make())
        let root = Garage(box)
        let token = root.observe(\.trunk.content, options: []) { (_: Change<Life>) in }
        for _ in 0..<5 { box.content.value = lives.make() }
        try eventually("the end of what was replaced") { lives.alive == 1 }
        root.trunk.value = Trunk(lives.make())
        #expect(lives.alive >= 1)
        token.cancelAndWaitBlocking()
        root.trunk.value = Trunk(Lives().make())
        withExtendedLifetime(box) {}
        _ = consume box
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P11 A root that its own closure captures is freed when the observation ends")
    func cycle() throws {
        let lives = Lives()
        let token: ObservationToken
        do {
            let car = Car(Axle(1), life: lives.make())
            token = car.observe(\.axle.wheel.pressure) { (_: Change<Int>) in _ = car.name.value }
        }
        #expect(lives.alive == 1)
        token.cancel()
        try lives.waitUntilNoneIsLeft()
    }
}

// MARK: - Owners

extension Promises.P11PathLifetimeTests {
    @Test("P13 The closure receives its owner for as long as it lives, in each delivery, and nothing afterwards")
    func owner() throws {
        let lives = Lives()
        let car = Car(1)
        let received = ReceivedChanges<Int>()
        let ends = Log<ObservationEnd>()
        let owner = Slot(lives.make())
        let token = car.property(\.axle.wheel.pressure).observe(owner: owner.value!, options: .initial) {
            owner,
            change in
            owner.touch()
            received.append(change)
        }
        token.onEnd { ends.append($0) }
        car.setPressure(2)
        car.axle.value = Axle(3)
        #expect(
            received.lines == ["initial - → 1 @0", "valueChanged 1 → 2 @1", "pathChanged(depth: 0) 2 → 3 @2"]
        )
        owner.clear()
        #expect(lives.alive == 0)
        car.setPressure(4)
        car.axle.value.wheel.value = Wheel(5)
        #expect(received.count == 3)
        #expect(!token.isActive)
        try eventually("the end") { ends.count > 0 }
        #expect(ends.entries == [.ownerDeleted])
    }

    @Test("P13 Once the owner's deinit has begun it is not called any more, not even by it")
    func notDuringDeinit() {
        let car = Car(0)
        let begun = Flag()
        let late = Counter()
        let owner = Slot(
            Lives().make {
                begun.set()
                car.setPressure(1)
                car.axle.value = Axle(2)
            }
        )
        let token = car.property(\.axle.wheel.pressure).observe(owner: owner.value!, options: .prior) { _, _ in
            if begun.isSet { late.increment() }
        }
        owner.clear()
        #expect(begun.isSet)
        #expect(late.value == 0)
        withExtendedLifetime(token) {}
    }

    @Test("P13 drain notices the dead owner of a quiet path; a living one receives the root's end")
    func quiet() throws {
        let car = Slot(Car(0))
        let ends = Log<ObservationEnd>()
        let received = ReceivedChanges<Int>()
        let (dead, living) = (Slot(Lives().make()), Lives().make())
        let tokens = [dead.value!, living].map { owner in
            car.value!.property(\.axle.wheel.pressure).observe(owner: owner) { _, change in received.append(change) }
        }
        tokens[0].onEnd { ends.append($0) }
        dead.clear()
        try Process.settle()
        try eventually("the end") { ends.count > 0 }
        #expect(ends.entries == [.ownerDeleted])
        tokens[1].recordEnd(to: received)
        car.clear()
        try received.ended.wait()
        try Process.settle()
        #expect(received.lines == ["sourceDeleted"])
        withExtendedLifetime((tokens, living)) {}
    }

    @Test("P13 An object that observes a path from itself dies, and the path with it")
    func selfObserving() throws {
        let lives = Lives()
        let received = ReceivedChanges<Int>()
        do {
            let watcher = SelfObserving(lives.make(), received)
            watcher.car.value.setPressure(1)
            watcher.car.value.axle.value = Axle(2)
            #expect(received.chain.map(\.new) == [1, 2])
        }
        try lives.waitUntilNoneIsLeft()
        #expect(received.count == 2)
    }
}

private final class SelfObserving: ConcurrentObservable {
    let car = Observed(Car(0))
    private let life: Life
    private let tokens = Log<ObservationToken>()

    init(_ life: Life, _ received: ReceivedChanges<Int>) {
        self.life = life
        tokens.append(property(\.car.axle.wheel.pressure).observe(owner: self) { _, change in received.append(change) })
    }
}

private final class Trunk: ConcurrentObservable {
    let content: Observed<Life>
    init(_ content: Life) { self.content = Observed(content) }
}

private final class Garage: ConcurrentObservable {
    let trunk: Observed<Trunk>
    init(_ trunk: Trunk) { self.trunk = Observed(trunk) }
}
