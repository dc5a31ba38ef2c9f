// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveTesting
import Synchronization
import Testing

extension Promises {
    @Suite("Lists of properties")
    struct PropertyListTests {}
}

extension Promises.PropertyListTests {
    @Test("P2 An array of the values, in order, one property twice; versions 1, 2, 3, … of each observation")
    func changes() {
        let car = Car(Axle(Wheel(1), spare: Wheel(2)))
        let list = PropertyList([
            car.property(\.mileage), car.property(\.axle.wheel.pressure), car.property(\.mileage),
        ])
        let received = ReceivedChanges<[Int]>()
        let token = list.observe(received, options: .initial)
        let version = list.version
        car.setPressure(5)
        #expect(list.version == version + 1)
        car.axle.value = Axle(6)
        #expect(list.snapshot().value == [0, 6, 0])
        #expect(
            received.lines == [
                "initial - → [0, 1, 0] @0", "valueChanged [0, 1, 0] → [0, 5, 0] @1",
                "valueChanged [0, 5, 0] → [0, 6, 0] @2",
            ]
        )
        // Both that lead to it receive the change: one after the other, or folded into one.
        car.mileage.value = 9
        #expect(list.value == [9, 6, 9])
        #expect(received.changes.last?.new == [9, 6, 9])
        #expect(received.mistakes(from: [0, 1, 0]).isEmpty)
        withExtendedLifetime(token) {}
    }

    @Test("P1 Serial, actor, values, sequence: all have all, in order")
    func forms() async throws {
        let properties = (0..<3).map { Observed($0) }
        let list = PropertyList(properties)
        let (log, actor) = (Log<[Int]>(), ObservationActor())
        let recordings = [list.record(delivery: .serial()), list.record(delivery: .actor(actor))]
        let token = list.observeValues { log.append($0) }
        let values = list.values(options: .initial).record()
        for index in 0..<3 { properties[index].value += 10 }
        let all = [[10, 1, 2], [10, 11, 2], [10, 11, 12]]
        for recording in recordings { try await recording.expect(all) }
        #expect(log.entries == all)
        try await values.expect([[0, 1, 2]] + all)
        withExtendedLifetime((token, actor)) {}
    }

    @Test("P20 A snapshot of many has values that were present together")
    func snapshots() throws {
        let properties = (0..<5).map { _ in Observed(0) }
        let list = PropertyList(Array(properties.reversed()))
        let step = Mutex(0)
        let writers = Hammer(threads: 1) {
            step.withLock { step in
                step += 1
                for property in properties { property.value = step }
            }
        }
        try writers.waitUntilWarm()
        let mistakes = Counter()
        for _ in 0..<20_000 {
            // From the last set to the first: no later one is ever behind, and none is two steps
            // ahead.
            let value = list.snapshot().value
            if value != value.sorted() || value[4] > value[0] + 1 { mistakes.increment() }
        }
        try writers.stop()
        #expect(mistakes.value == 0)
    }

    @Test("P2 P3 Writers of all: versions without gaps, and the last values")
    func writers() throws {
        let properties = (0..<4).map { _ in Observed(0) }
        let received = ReceivedChanges<[Int]>()
        let token = PropertyList(properties).observe(received)
        try onThreads(4) { thread in for number in 1...500 { properties[thread].value = number } }
        #expect(received.mistakes(from: [0, 0, 0, 0]).isEmpty)
        #expect(received.chain.last?.new == [500, 500, 500, 500])
        withExtendedLifetime(token) {}
    }

    @Test("P11 P12 It keeps none of its properties when it is observed; with the first of them the observation ends")
    func ends() throws {
        let properties = Slot((0..<3).map { Observed($0) })
        let middle = Slot(properties.value![1])
        let weak = Weak(properties.value![0])
        let received = ReceivedChanges<[Int]>()
        let token = PropertyList(properties.value!).observe(received).recordEnd(to: received)
        let rest = [properties.value![0], properties.value![2]]
        properties.clear()
        rest[0].value = 7
        #expect(token.isActive)
        middle.clear()
        try received.ended.wait()
        rest[1].value = 8
        try Process.settle()
        #expect(received.lines == ["valueChanged [0, 1, 2] → [7, 1, 2] @1", "sourceDeleted"])
        #expect(weak.object != nil)
    }

    @Test("A group or a list of nothing traps, and says what to do")
    func empty() async throws {
        let ofGroup = try #require(
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let group: Group<Void> = Group()
                _ = group
            }
        )
        #expect(String(decoding: ofGroup.standardErrorContent, as: UTF8.self).contains("Give it at least one."))
        let result = try #require(
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = PropertyList([Observed<Int>]())
            }
        )
        #expect(String(decoding: result.standardErrorContent, as: UTF8.self).contains("Give it at least one."))
    }
}
