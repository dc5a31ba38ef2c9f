// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveTesting
import Testing

extension Promises {
    @Suite("Paths as values")
    struct PathValueTests {}
}

extension Promises.PathValueTests {
    @Test("P2 It has the value of what it leads to at present, nil where a step is nil")
    func values() {
        let car = Car(Axle(1), second: Axle(Wheel(2, warning: "low")))
        let (pressure, second, warning) = (
            car.property(\.axle.wheel.pressure), car.property(\.second.wheel.pressure),
            car.property(\.second.wheel.warning)
        )
        #expect((pressure.value, second.value, warning.value) == (1, 2, "low"))
        car.setPressure(3)
        car.second.value!.wheel.value.warning.value = nil
        #expect((pressure.value, second.value, warning.value) == (3, 2, nil))
        car.axle.value = Axle(4)
        car.second.value = nil
        #expect((pressure.value, second.value, warning.value) == (4, nil, nil))
        car.second.value = Axle(5)
        #expect(second.snapshot().value == 5)
        #expect(car.property(\.name).value == "Beetle")
    }

    @Test(
        "P2 Its version grows with each change of the end and each replacement of a step; of one step it is the property's"
    )
    func versions() {
        let fleet = Fleet(Car(0))
        let path = fleet.property(\.car.axle.wheel.pressure)
        for number in 1...5 { fleet.car.value.setPressure(number) }
        var version = path.version
        let changes: [() -> Void] = [
            { fleet.car.value.setPressure(1) }, { fleet.car.value.axle.value.wheel.value = Wheel(2) },
            { fleet.car.value.setPressure(3) }, { fleet.car.value.axle.value = Axle(4) },
            { fleet.car.value = Car(5) }, { fleet.car.value.setPressure(6) },
        ]
        for (index, change) in changes.enumerated() {
            change()
            #expect(path.version > version, "change \(index)")
            version = path.version
            #expect(path.snapshot() == (path.value, version))
        }
        let name = fleet.car.value.property(\.name)
        for _ in 0..<3 { fleet.car.value.name.value = "Golf" }
        #expect(name.version == 3)
        #expect(name.snapshot() == ("Golf", 3))
    }

    @Test("P20 P22 A step that was replaced more often than there is room for: a replacement before it is still seen")
    func manyReplacements() {
        let car = Car(Axle(1))
        let (path, other) = (car.property(\.axle.wheel.pressure), Observed(0))
        let derived = Derived { get in
            let (pressure, number) = get(Group(path, other))
            return pressure + number
        }
        let wheel = Wheel(2)
        for _ in 0..<65_536 { car.axle.value.wheel.value = wheel }
        #expect(derived.value == 2)
        let version = path.version
        car.axle.value = Axle(42)
        #expect(path.version != version)
        #expect(derived.value == 42)
    }

    @Test("P2 A snapshot among writers of all steps has a value that was there, and its version never goes back")
    func snapshotsAmongWriters() throws {
        let wheels = (0..<3).map { Wheel($0) }
        let car = Car(Axle(wheels[0]))
        let path = car.property(\.axle.wheel.pressure)
        let steps = Counter()
        let writers = Hammer(threads: 2) {
            let step = steps.increment()
            switch step % 4 {
            case 0: car.axle.value.wheel.value = wheels[step / 4 % 3]
            // A pressure names its wheel: it is the wheel's index, modulo three.
            default: wheels[step % 3].pressure.value = step * 3 + step % 3
            }
        }
        try writers.waitUntilWarm()
        let mistakes = Counter()
        for _ in 0..<20_000 {
            let (value, _) = path.snapshot()
            if value < 0 || value % 3 > 2 { mistakes.increment() }
        }
        try writers.stop()
        #expect(mistakes.value == 0)
        #expect(path.value == car.pressure)
    }

    @Test("P1 P12 Every form: owner, handle, actor, sequence, group; ended with the root", .leavesNothingBehind)
    func forms() async throws {
        let car = Slot(Car(1))
        let listener = Listener()
        let owner = Lives().make()
        let logs = (0..<6).map { _ in Log<Int>() }
        var tokens: [ObservationToken] = []
        do {
            let path = car.value!.property(\.axle.wheel.pressure)
            tokens = [
                path.observe(owner: owner) { _, change in logs[0].append(change.new) },
                path.observe { change, _ in logs[1].append(change.new) },
                path.observe(on: listener) { _, change in logs[2].append(change.new) },
                path.observeIsolated { @MainActor change in logs[3].append(change.new) },
                path.observeValues { logs[4].append($0) },
                path.observe(delivery: .serial()) { logs[5].append($0.new) },
            ]
        }
        var changes = car.value!.property(\.axle.wheel.pressure).changes(options: .initial).makeAsyncIterator()
        var values = car.value!.property(\.axle.wheel.pressure).values().makeAsyncIterator()
        car.value!.setPressure(2)
        car.value!.axle.value = Axle(3)
        car.value!.setPressure(4)
        try await whenQuiet()
        for log in logs { #expect(log.entries == [2, 3, 4]) }
        let ends = Log<ObservationEnd>()
        for token in tokens { token.onEnd { ends.append($0) } }
        car.clear()
        try await whenQuiet()
        #expect(ends.count == tokens.count && ends.entries.allSatisfy { $0 == .sourceDeleted })
        #expect(tokens.allSatisfy { !$0.isActive })
        let lines = [
            "initial - → 1 @0", "valueChanged 1 → 2 @1", "pathChanged(depth: 0) 2 → 3 @2", "valueChanged 3 → 4 @3",
        ]
        for line in lines { #expect(await changes.next()?.line == line) }
        #expect(await changes.next() == nil)
        for value in [2, 3, 4] { #expect(await values.next() == value) }
        #expect(await values.next() == nil)
        withExtendedLifetime(owner) {}
    }

    @Test("P11 It keeps its root; what observes it, and its sequences, do not")
    func retains() async {
        let lives = Lives()
        let car = Slot(Car(Axle(1), life: lives.make()))
        let path = Slot(car.value!.property(\.axle.wheel.pressure))
        let token = path.value!.observe { _ in }
        let sequence = path.value!.values()
        var iterator = sequence.makeAsyncIterator()
        car.clear()
        #expect(lives.alive == 1)
        #expect(path.value!.value == 1)
        path.clear()
        #expect(lives.alive == 0)
        #expect(!token.isActive)
        #expect(await iterator.next() == nil)
        var late = sequence.makeAsyncIterator()
        #expect(await late.next() == nil)
    }
}
