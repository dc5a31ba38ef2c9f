// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    @Suite("P22 Operators on everything observable")
    struct OperatorTests {}
}

extension Promises.OperatorTests {
    /// A source with a number, and a way to set the number.
    struct Source: Sendable {
        let name: String
        let property: any ObservableProperty<Int>
        let set: @Sendable (Int) -> Void
    }

    /// The sources. Each begins with 1.
    static var sources: [Source] {
        let (number, other, car) = (Observed(1), Observed(7), Car(Axle(1), second: nil))
        let (weak, guest) = (WeakObserved<Numbered>(), Numbered())
        let (optional, derived) = (Car(Axle(0), second: Axle(1)), Observed(1))
        weak.value = guest
        let set: @Sendable (Int) -> Void = { number.value = $0 }
        return [
            Source(name: "a property", property: number, set: set),
            Source(name: "a read-only view", property: number.readOnly, set: set),
            Source(name: "without duplicates", property: number.removingDuplicates(), set: set),
            Source(name: "a path", property: car.property(\.axle.wheel.pressure)) { car.setPressure($0) },
            Source(name: "a path that leads elsewhere", property: car.property(\.axle.wheel.pressure)) {
                car.axle.value = Axle($0)
            },
            Source(
                name: "a path through nil",
                property: optional.property(\.second.wheel.pressure).map { $0 ?? 0 }
            ) { number in
                optional.second.value = Axle(number)
            },
            // The closure keeps the referent.
            Source(name: "a weak property", property: weak.map { $0?.number.value ?? 0 }) { number in
                guest.number.value = number
                weak.value = guest
            },
            Source(name: "a weak property's own", property: Derived { get in get(get(weak)!.number) }) {
                guest.number.value = $0
            },
            Source(name: "a group", property: Group(number, other).map { $0.0 }, set: set),
            Source(name: "a list", property: PropertyList([number, other]).map { $0[0] }, set: set),
            Source(name: "a derived value", property: derived.map { $0 }) { derived.value = $0 },
            Source(name: "derived of derived", property: derived.map { $0 * 2 }.map { $0 / 2 }) {
                derived.value = $0
            },
        ]
    }

    /// The names of the sources. Arguments live as long as the process, and a weak property would
    /// observe its referent as long.
    static var names: [String] { sources.map(\.name) }

    private func source(_ name: String) throws -> Source {
        try #require(Self.sources.first { $0.name == name })
    }

    /// Returns the result of each operator for a source: ten times its number.
    private func results(of source: some ObservableProperty<Int>) -> [(String, Derived<Int>)] {
        let nine = Observed(9)
        return [
            ("map", source.map { $0 * 10 }),
            ("combine", source.combine(nine) { $0 + $0 * $1 }),
            ("combine with itself", source.combine(source) { $0 * 5 + $1 * 5 }),
            ("removingDuplicates", source.removingDuplicates(by: ==).map { $0 * 10 }),
            ("names", Derived(source, nine) { $0 + $0 * $1 }),
            ("reads", Derived { get in get(source) + get(source) * get(nine) }),
        ]
    }

    @Test(
        "P22 Every operator on every source: read, observed with every delivery, in a snapshot, bound",
        arguments: names
    )
    func every(_ name: String) async throws {
        let source = try source(name)
        for (operation, result) in results(of: source.property) {
            source.set(1)
            #expect(result.value == 10, "\(operation)")
            let (logs, bound, actor) = ((0..<4).map { _ in Log<Int>() }, Observed(0), ObservationActor())
            let values = result.values()
            let tokens = [
                result.observe { logs[0].append($0.new) },
                result.observe(delivery: .serial()) { logs[1].append($0.new) },
                result.observe(delivery: .queue(DispatchQueue(label: "results"))) { logs[2].append($0.new) },
                result.observe(on: actor) { _, change in logs[3].append(change.new) },
                result.bind(to: bound),
            ]
            let task = Task { () -> [Int] in
                var taken: [Int] = []
                for await value in values {
                    taken.append(value)
                    if value == 50 { break }
                }
                return taken
            }
            try await settled("the iterator") { result.observationCount > tokens.count }
            source.set(3)
            source.set(3)
            source.set(5)
            #expect(result.value == 50 && bound.value == 50, "\(operation)")
            #expect(Group(result, bound).snapshot().value == (50, 50), "\(operation)")
            let taken = await task.value
            try await settled("the deliveries") { logs.allSatisfy { $0.entries.last == 50 } }
            for received in logs.map(\.entries) + [taken] {
                #expect(received == [30, 50], "\(operation)")
            }
            for token in tokens { await token.cancelAndWait() }
            try await settled("the end") { result.observationCount == 0 }
            source.set(7)
            #expect(result.value == 70 && bound.value == 50, "\(operation)")
        }
    }

    @Test("P24 removingDuplicates(by:) compares with the last value that it has kept", arguments: names)
    func drift(_ name: String) throws {
        let source = try source(name)
        func near(_ property: some ObservableProperty<Int>) -> some ObservableProperty<Int> {
            property.removingDuplicates { abs($0 - $1) < 3 }
        }
        // Some have a source in common.
        source.set(1)
        let (result, received) = (near(source.property), Log<Int>())
        let token = result.observe { received.append($0.new) }
        for number in 2...8 { source.set(number) }
        #expect(received.entries == [4, 7])
        token.cancel()
    }

    /// Waits like `eventually`, and lets other tasks run.
    private func settled(_ what: String, _ condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + patience
        while !condition() {
            if ContinuousClock.now > deadline { throw WaitedInVain(for: what) }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    private actor ObservationActor {}

    private final class Numbered: WeaklyObservable {
        let lifetime = ReferentLifetime()
        let number = Observed(1)
    }
}
