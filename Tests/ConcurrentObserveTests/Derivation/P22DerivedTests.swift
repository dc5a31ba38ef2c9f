// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveTesting
import Dispatch
import Testing

extension Promises {
    @Suite("P22 A derived value is current")
    struct P22DerivedTests {}
}

extension Promises.P22DerivedTests {
    @Test("P22 Of every kind of property, and of derived values of them")
    func kinds() {
        let (car, number, weak) = (Car(Axle(1), second: nil), Observed(1), WeakObserved<Referent>())
        let derived = Derived { get -> String in
            let pressure = get(car.property(\.axle.wheel.pressure))
            let absent = get(car.property(\.second.wheel.pressure))
            let group = get(Group(number, car.name))
            let list = get(PropertyList([number, number]))
            return "\(pressure) \(absent ?? -1) \(get(number.readOnly)) \(get(number.removingDuplicates())) "
                + "\(get(weak) == nil) \(group.0)\(group.1) \(list)"
        }
        let received = ReceivedChanges<String>()
        let token = derived.observe(received)
        #expect(derived.value == "1 -1 1 1 true 1Beetle [1, 1]")
        car.setPressure(2)
        #expect(received.changes.last?.new == "2 -1 1 1 true 1Beetle [1, 1]")
        car.second.value = Axle(3)
        #expect(received.changes.last?.new == "2 3 1 1 true 1Beetle [1, 1]")
        number.value = 4
        #expect(received.changes.last?.new == "2 3 4 4 true 4Beetle [4, 4]")
        car.name.value = "Golf"
        #expect(received.changes.last?.new == "2 3 4 4 true 4Golf [4, 4]")
        var referent: Referent? = Referent("Ada")
        weak.value = referent
        #expect(received.changes.last?.new == "2 3 4 4 false 4Golf [4, 4]")
        withExtendedLifetime(referent) {}
        referent = nil
        #expect(
            received.changes.last?.new == "2 3 4 4 true 4Golf [4, 4]" && derived.value == received.changes.last?.new
        )
        token.cancel()
    }

    @Test("P22 A path that leads elsewhere is followed; what it led to before is not")
    func path() {
        let car = Car(Axle(1), second: nil)
        let before = car.axle.value
        let pressure = car.property(\.axle.wheel.pressure).map { $0 * 10 }
        let received = ReceivedChanges<Int>()
        let token = pressure.observe(received)
        car.axle.value = Axle(5)
        before.wheel.value.pressure.value = 7
        car.setPressure(6)
        #expect(received.changes.map(\.new) == [50, 60])
        token.cancel()
    }

    @Test("P22 Where derived values are used as properties are: groups, bindings, generic code, sequences, queues")
    func uses() async throws {
        let (a, bound) = (Observed(1), Observed(0))
        let c = Derived { get in 10 * get(a) }
        func value(of property: some ObservableProperty<Int>) -> Int { property.value }
        #expect(value(of: c) == 10 && Group(a, c).value == (1, 10))
        let binding = c.bind(to: bound)
        #expect(bound.value == 10)
        let (grouped, serial) = (Log<Int>(), Log<Int>())
        let tokens = [
            Group(a, c).observe { grouped.append($0.new.1) }, binding,
            c.observe(options: .initial, delivery: .serial()) { serial.append($0.new) },
        ]
        let values = c.values(options: .initial).record()
        a.value = 2
        a.value = 3
        #expect(bound.value == 30 && grouped.entries.last == 30)
        #expect(serial.entries == [10, 20, 30])
        try await values.expect([10, 20, 30])
        for token in tokens { token.cancel() }
    }

    @Test("P22 A binding from a derived value back to its source ends")
    func cycle() {
        let a = Observed(0)
        let c = a.map { $0 + 1 }
        let token = c.bind(to: a)
        #expect(a.value >= 1 && a.value < 10)
        a.value = 50
        #expect(a.value <= 52)
        token.cancel()
    }

    @Test("P22 A read is never older than what its thread has set", arguments: [true, false])
    func ownChanges(isObserved: Bool) throws {
        let properties = (0..<2).map { _ in Observed(0) }
        let sum = Derived { get in get(properties[0]) + get(properties[1]) }
        let wrong = Counter()
        let token = isObserved ? sum.observe { _ in } : nil
        try onThreads(2) { thread in
            for step in 1...5_000 {
                properties[thread].value = step
                if sum.value < step { wrong.increment() }
            }
        }
        #expect(wrong.value == 0 && sum.value == 10_000)
        token?.cancel()
    }
    @Test(
        "P22 A function that reads each of many sources twice takes as long for each as with few",
        arguments: [true, false]
    )
    func repeatedReads(isFirst: Bool) {
        // Ten times as many sources: a hundred times as long if each were looked for among all.
        let (few, many) = (timeOfRepeatedReads(2_000, isFirst), timeOfRepeatedReads(20_000, isFirst))
        #expect(many < few * 40, "\(few) and \(many)")
    }
}

/// Returns the processor time of the fastest of some evaluations, either the first or a later one.
private func timeOfRepeatedReads(_ count: Int, _ isFirst: Bool) -> Duration {
    let sources = (0..<count).map { Observed($0) }
    var least = Duration.seconds(1_000)
    for _ in 0..<3 {
        let sum = Derived { get in
            for source in sources { _ = get(source) }
            return sources.reduce(0) { $0 + get($1) }
        }
        if !isFirst {
            _ = sum.value
            sources[0].value += 1
        }
        let begin = Process.ownTime
        _ = sum.value
        least = min(least, Process.ownTime - begin)
    }
    return least
}
