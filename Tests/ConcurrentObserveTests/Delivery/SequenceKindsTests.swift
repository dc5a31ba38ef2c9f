// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P1 P11 P12 Asynchronous sequences of anything that has a value", .timeLimit(.minutes(2)))
    struct SequenceKindsTests {}
}

private final class Team: ConcurrentObservable {
    let lead = WeakObserved<Person>()
}

private final class Firm: ConcurrentObservable {
    let team = Observed(Team())
}

/// An object that is equal to others with the same number. Duplicates are removed by this equality.
private final class Person: WeaklyObservable, Equatable {
    let lifetime = ReferentLifetime()
    let number: Int
    private let life: Life?

    init(_ number: Int, life: Life? = nil) { (self.number, self.life) = (number, life) }

    static func == (left: Person, right: Person) -> Bool { left.number == right.number }
}

/// The ways in which a weak property is seen.
private enum Seen: String, CaseIterable, Sendable {
    case property, path, oneStepPath, withoutDuplicates, pathWithoutDuplicates

    func of(_ firm: Firm) -> any ObservableProperty<Person?> {
        switch self {
        case .property: firm.team.value.lead
        case .path: firm.property(\.team.lead)
        case .oneStepPath: firm.team.value.property(\.lead)
        case .withoutDuplicates: firm.team.value.lead.removingDuplicates()
        case .pathWithoutDuplicates: firm.property(\.team.lead).removingDuplicates()
        }
    }
}

/// Makes a sequence of any source, and a task that iterates over it when it is allowed to.
private struct Iterated: ObservableUse {
    typealias Result = (elements: [Int], parts: [UInt64])

    let buffering: Buffering
    let count: Int
    let mayBegin = Signal("the iteration")
    let task = Slot<Task<Result, any Error>>()

    init(_ buffering: Buffering, count: Int) { (self.buffering, self.count) = (buffering, count) }

    func observe<Property: ObservableProperty>(
        _ property: Property,
        _ number: @escaping @Sendable (Property.Value) -> Int
    ) -> ObservationToken {
        let (isReady, sequence) = (Signal("an iterator"), property.values(buffering: buffering))
        task.put(
            Task.detached { [count, mayBegin] in
                var iterator = sequence.makeAsyncIterator()
                isReady.happen()
                try await mayBegin.arrival()
                let elements = await iterator.next(count).map(number)
                return (elements, iterator.deliveryCounts.parts)
            }
        )
        isReady.hold()
        return Observed(0).observe { (_: Change<Int>) in }
    }

    func observe(_ registry: ObserverRegistry<Int>) -> ObservationToken { fatalError("a registry has no value") }
}

extension Promises.SequenceKindsTests {
    @Test("P1 P2 The values of anything, in order, by policy", arguments: ObservableKind.properties)
    func values(kind: ObservableKind) async throws {
        let policies: [(Buffering, [Int])] = [
            (.unbounded, Array(1...10)), (.latest, [10]), (.droppingOldest(3), [8, 9, 10]),
            (.droppingNewest(3), [1, 2, 3]),
        ]
        for (buffering, kept) in policies {
            let (thing, iterated) = (ObservableThing(kind), Iterated(buffering, count: kept.count))
            _ = thing.with(iterated)
            for number in 1...10 { thing.send(number) }
            iterated.mayBegin.happen()
            let result = try await iterated.task.take()!.value
            #expect(result.elements == kept)
            #expect(result.parts == [10, UInt64(kept.count), UInt64(10 - kept.count)])
        }
    }

    @Test(
        "P1 Without duplicates, seen through several views: elements, counts, cancellation",
        arguments: [1, 2, 3]
    )
    func withoutDuplicates(depth: Int) async throws {
        let property = Slot(Observed(0))
        var seen: any ObservableProperty<Int> = property.value!
        for _ in 0..<depth { seen = Self.withoutDuplicates(seen) }
        let (values, changes) = (seen.values(options: .initial), seen.changes())
        seen = Observed(0)
        var iterator = values.makeAsyncIterator()
        let consumer = try Consumer(changes)
        for number in [0, 1, 1, 2, 2, 2, 3] { property.value!.value = number }
        #expect(await iterator.next(4) == [0, 1, 2, 3])
        #expect(iterator.deliveryCounts.pending == 0)
        property.clear()
        #expect(await iterator.next() == nil)
        try await consumer.wait()
        #expect(consumer.elements.map(\.new) == [1, 2, 3])
        #expect(consumer.elements.map(\.version) == [2, 4, 7])
        var late = values.makeAsyncIterator()
        #expect(await late.next() == nil)
    }

    private static func withoutDuplicates(_ property: some ObservableProperty<Int>) -> any ObservableProperty<Int> {
        property.removingDuplicates()
    }

    @Test(
        "P11 What waits of a weak property keeps no referent: elements are looked up when they are returned",
        arguments: Seen.allCases
    )
    private func referents(seen: Seen) async throws {
        let (firm, lives) = (Firm(), Lives())
        let lead = firm.team.value.lead
        let stays = Person(4)
        let property = seen.of(firm)
        var values = property.values(options: .initial).makeAsyncIterator()
        var changes = property.changes().makeAsyncIterator()
        // Two versions each: the referent, and its death.
        for number in 1...3 {
            let person = Slot(Person(number, life: lives.make()))
            lead.value = person.value
            #expect(lives.alive == 1)
            person.clear()
            #expect(lives.alive == 0)
            #expect(lead.value == nil)
        }
        lead.value = stays
        #expect(values.deliveryCounts.pending == 8)
        let removes = seen == .withoutDuplicates || seen == .pathWithoutDuplicates
        // A dead referent is nil, so two dead ones are equal.
        let expected: [Int?] = removes ? [nil, 4] : [nil, nil, nil, nil, nil, nil, nil, 4]
        #expect(await values.next(expected.count).map { $0?.number } == expected)
        #expect(await changes.next(expected.count - 1).map { $0.new?.number } == Array(expected.dropFirst()))
        lead.value = nil
        #expect(await values.next()?.map(\.number) == .some(nil))
        #expect(await changes.next()?.old??.number == 4)
        withExtendedLifetime(stays) {}
    }

    @Test(
        "P11 What a delivery has waiting of a weak property keeps no referent, either",
        arguments: Route.named,
        Seen.allCases
    )
    private func deliveries(route: Route, seen: Seen) throws {
        let (firm, lives, room) = (Firm(), Lives(), Room(route))
        let lead = firm.team.value.lead
        let numbers = Log<Int?>()
        let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
        let (first, last) = (Person(-1), Person(9))
        let token = seen.of(firm).observe(delivery: room.delivery(.unbounded)) { change in
            numbers.append(change.new?.number)
            guard change.new?.number == -1 else { return }
            entered.happen()
            exit.hold()
        }
        let blocked = TestThread { lead.value = first }
        try entered.wait()
        for number in 1...3 {
            let person = Slot(Person(number, life: lives.make()))
            lead.value = person.value
            person.clear()
            #expect(lives.alive == 0)
        }
        lead.value = last
        exit.happen()
        try blocked.join()
        try token.waitUntilIdle()
        try eventually("the last callback") { numbers.entries.last == 9 }
        #expect(numbers.entries.allSatisfy { $0 == nil || $0 == -1 || $0 == 9 })
        // A value that is left out is not counted. All dead referents are nil, and so are equal.
        let removes = seen == .withoutDuplicates || seen == .pathWithoutDuplicates
        #expect(numbers.count == (removes ? 3 : 8))
        #expect(token.counts.parts == (removes ? [3, 3, 0] : [8, 8, 0]))
        withExtendedLifetime((first, last)) {}
    }

    @Test(
        "P12 A source that dies ends the sequences of a view of it; the view's own copy keeps it",
        arguments: Seen.allCases
    )
    private func theEnd(seen: Seen) async throws {
        let (firm, person) = (Slot(Firm()), Person(1))
        var property: (any ObservableProperty<Person?>)? = seen.of(firm.value!)
        let lead = Weak(firm.value!.team.value.lead)
        var iterator = property!.values().makeAsyncIterator()
        lead.object!.value = person
        firm.clear()
        #expect(lead.object != nil)
        property = nil
        // A thread of the library releases the objects that a path has led to.
        try eventually("the property's end") { lead.object == nil }
        #expect(await iterator.next()??.number == 1)
        #expect(await iterator.next() == nil)
        #expect(iterator.deliveryCounts.parts == [1, 1, 0])
        withExtendedLifetime(person) {}
    }

    @Test("P11 P12 A sequence of a read-only view ends with the property, which it does not retain")
    func readOnly() async throws {
        let property = Slot(Observed(0))
        let sequence = property.value!.readOnly.values(options: .initial)
        let weak = Weak(property.value!)
        var iterator = sequence.makeAsyncIterator()
        let consumer = try Consumer(sequence)
        for number in 1...3 { property.value!.value = number }
        #expect(weak.object?.observationCount == 2)
        property.clear()
        #expect(weak.object == nil)
        #expect(await iterator.rest() == [0, 1, 2, 3])
        try await consumer.wait()
        #expect(consumer.elements == [0, 1, 2, 3])
        var late = sequence.makeAsyncIterator()
        #expect(await late.next() == nil)
    }
}
