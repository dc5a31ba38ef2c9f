// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("Read-only views")
    struct ReadOnlyTests {}
}

/// A model that shows a property which only it sets.
private final class Racer: ConcurrentObservable {
    private let measured = Observed(0)
    let next = Observed<Racer?>(nil)
    let team = Observed(Stable())

    var speed: ReadOnly<Int> { measured.readOnly }

    func measure(_ speed: Int) { measured.value = speed }
}

private final class Stable: ConcurrentObservable {
    private let named = Observed<String?>("Lotus")
    var name: ReadOnly<String?> { named.readOnly }
    func rename(_ name: String?) { named.value = name }
}

/// A type whose value can be set.
private protocol Settable {}
extension Observed: Settable {}

extension Promises.ReadOnlyTests {
    @Test("P2 It has the property's value and versions, and every observation of it is the property's")
    func view() {
        let property = Observed("a")
        let view = property.readOnly
        let (own, seen) = (ReceivedChanges<String>(), ReceivedChanges<String>())
        let tokens = [
            property.observe(own, options: [.initial, .prior]), view.observe(seen, options: [.initial, .prior]),
        ]
        property.value = "b"
        property.modify { $0 = "c" }
        #expect(view.value == "c")
        #expect(view.snapshot() == ("c", 2))
        #expect(view.version == 2)
        #expect(seen.lines == own.lines)
        #expect(seen.versions == [1, 2])
        #expect(view.observationCount == 2 && property.observationCount == 2)
        withExtendedLifetime(tokens) {}
    }

    @Test("It cannot be set: neither itself, nor by a cast to what can")
    func cannotBeSet() {
        let racer = Racer()
        racer.measure(3)
        // A read-only property, of a value type: there is no setter to find.
        #expect(!(\ReadOnly<Int>.value is WritableKeyPath<ReadOnly<Int>, Int>))
        #expect(!((racer.speed as Any) is any Settable))
        #expect((Observed(0) as Any) is any Settable)
        #expect(racer.speed.value == 3)
    }

    @Test("P1 A path leads to it, alone, behind a step, and behind optional ones")
    func paths() {
        let (racer, other) = (Racer(), Racer())
        let (speed, next, name) = (ReceivedChanges<Int>(), ReceivedChanges<Int?>(), ReceivedChanges<String?>())
        let tokens = [
            racer.observe(\.speed) { (change: Change<Int>) in speed.append(change) },
            racer.observe(\.next.speed, options: .initial) { next.append($0) },
            racer.property(\.next.team.name).observe { name.append($0) },
        ]
        racer.measure(1)
        racer.next.value = other
        other.measure(2)
        other.team.value.rename(nil)
        racer.next.value = nil
        other.measure(3)
        #expect(speed.lines == ["valueChanged 0 → 1 @1"])
        #expect(
            next.lines == [
                "initial - → nil @0", "pathChanged(depth: 0) nil → Optional(0) @1",
                "valueChanged Optional(0) → Optional(2) @2", "pathChanged(depth: 0) Optional(2) → nil @3",
            ]
        )
        #expect(name.changes.map(\.new) == ["Lotus", nil, nil])
        #expect(racer.property(\.speed).value == 1)
        withExtendedLifetime(tokens) {}
    }

    @Test("P11 P12 It keeps its property; what observes it, and its sequences, do not, and end with the property")
    func lifetime() async throws {
        let property = Slot(Observed(0))
        let weak = Weak(property.value!)
        let view = Slot(property.value!.readOnly)
        let received = ReceivedChanges<Int>()
        let token = view.value!.observe(received).recordEnd(to: received)
        var values = view.value!.values().makeAsyncIterator()
        property.value!.value = 1
        property.clear()
        #expect(weak.object != nil)
        view.clear()
        #expect(weak.object == nil)
        #expect(!token.isActive)
        try await received.ended.arrival()
        #expect(received.lines == ["valueChanged 0 → 1 @1", "sourceDeleted"])
        #expect(await values.next() == 1)
        #expect(await values.next() == nil)
    }
}
