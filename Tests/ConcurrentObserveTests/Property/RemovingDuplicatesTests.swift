// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("Without duplicates")
    struct RemovingDuplicatesTests {}
}

extension Promises.RemovingDuplicatesTests {
    @Test("Inline, serial and in sequences: equal values are left out, versions are the property's, and have gaps")
    func forms() async {
        let property = Observed("a")
        let distinct = property.removingDuplicates()
        let (inline, serial) = (ReceivedChanges<String>(), ReceivedChanges<String>())
        let tokens = [
            distinct.observe(inline, options: .initial),
            distinct.observe(options: .initial, delivery: .serial()) { serial.append($0) },
        ]
        var changes = distinct.changes(options: .initial).makeAsyncIterator()
        var values = distinct.values(options: .initial).makeAsyncIterator()
        for value in ["a", "b", "b", "a", "a"] { property.value = value }
        property.modify { _ in }
        property.exchange("c")
        let lines = ["initial - → a @0", "valueChanged a → b @2", "valueChanged b → a @4", "valueChanged a → c @7"]
        #expect(inline.lines == lines)
        #expect(serial.lines == lines)
        for line in lines { #expect(await changes.next()?.line == line) }
        for value in ["a", "b", "a", "c"] { #expect(await values.next() == value) }
        #expect(distinct.snapshot() == ("c", 7))
        #expect((distinct.value, distinct.version) == ("c", 7))
        withExtendedLifetime(tokens) {}
    }

    @Test("A path delivers replacements, even to an equal value, and no other equal values")
    func paths() {
        let car = Car(1)
        let received = ReceivedChanges<Int>()
        let token = car.property(\.axle.wheel.pressure).removingDuplicates().observe(received)
        car.setPressure(1)
        car.axle.value = Axle(1)
        car.setPressure(2)
        car.setPressure(2)
        // A replacement on the path is always delivered.
        #expect(received.lines == ["pathChanged(depth: 0) 1 → 1 @2", "valueChanged 1 → 2 @3"])
        withExtendedLifetime(token) {}
    }

    @Test("P12 The end is the property's: observations end, sequences finish, and nothing is kept")
    func ends() async throws {
        let property = Slot(Observed(1))
        let weak = Weak(property.value!)
        let received = ReceivedChanges<Int>()
        let token = property.value!.removingDuplicates().observe(received).recordEnd(to: received)
        var values = property.value!.removingDuplicates().values().makeAsyncIterator()
        property.value!.value = 1
        property.value!.value = 2
        property.clear()
        #expect(weak.object == nil)
        try await received.ended.arrival()
        #expect(received.lines == ["valueChanged 1 → 2 @2", "sourceDeleted"])
        #expect(await values.next() == 2)
        #expect(await values.next() == nil)
        withExtendedLifetime(token) {}
    }

    @Test("P5 Values are compared with their own ==, where the observer is called, under no lock")
    func comparison() throws {
        let property = Observed(Compared(0))
        let (threads, free) = (Log<Int>(), Log<Bool>())
        let received = Log<Int>()
        let token = property.removingDuplicates().observe { received.append($0.new.number) }
        let setting = Slot<Int>()
        try onNewThread {
            setting.put(threadNumber())
            property.value = Compared(0) {
                guard threads.count == 0 else { return }
                threads.append(threadNumber())
                free.append(anotherThreadFinishes { _ = property.modify { _ in property.version } })
            }
        }
        #expect(threads.entries == [setting.value!])
        #expect(free.entries == [true])
        #expect(received.count == 0)
        withExtendedLifetime(token) {}
    }
}

// MARK: - Comparisons that cancel

extension Promises.RemovingDuplicatesTests {
    @Test("P6 P8 A comparison that cancels its own observation is not followed by a call")
    func comparisonThatCancels() throws {
        for isNested in [false, true] {
            let (property, calls, token) = (Observed(Compared(0)), Counter(), Slot<ObservationToken>())
            let distinct = property.removingDuplicates()
            token.put(
                isNested
                    ? distinct.removingDuplicates().observe { _ in calls.increment() }
                    : distinct.observe { _ in calls.increment() }
            )
            property.value = Compared(1) { token.value!.cancel() }
            property.value = Compared(2)
            #expect(calls.value == 0)
            #expect(!token.value!.isActive)
        }
    }

    @Test(
        "P1 P8 Elsewhere, too: the change is dropped, in every delivery",
        arguments: Route.named
    )
    func comparisonThatCancelsElsewhere(route: Route) throws {
        let (property, room, calls) = (Observed(Compared(0)), Room(route), Counter())
        let token = Slot<ObservationToken>()
        token.put(property.removingDuplicates().observe(in: room) { _ in calls.increment() })
        property.value = Compared(1) { token.value!.cancel() }
        try eventually("the end") { !token.value!.isActive }
        try token.value!.waitUntilIdle()
        #expect(calls.value == 0)
        #expect(token.value!.counts.parts == [1, 0, 1])
    }

    @Test("P1 P8 A comparison that cancels all observations of the source ends its sequence")
    func comparisonThatCancelsItsSequence() async {
        let property = Observed(Compared(0))
        var values = property.removingDuplicates().values().makeAsyncIterator()
        property.value = Compared(1) { property.cancelAllObservations() }
        property.value = Compared(2)
        #expect(await values.next() == nil)
        #expect(values.deliveryCounts.parts == [2, 0, 2])
    }
}
