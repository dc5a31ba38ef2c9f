// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("Weak properties")
    struct WeakObservedTests {}
}

// MARK: - Values

extension Promises.WeakObservedTests {
    @Test("P2 What is set is read, with its version; exchange returns what was there")
    func values() {
        let (a, b) = (Referent("a"), Referent("b"))
        let property = WeakObserved<Referent>()
        #expect(property.value == nil)
        #expect(property.version == 0)
        property.value = a
        #expect(property.value === a)
        #expect(property.snapshot().value === a)
        #expect(property.snapshot().version == 1)
        #expect(property.exchange(b) === a)
        #expect(property.exchange(nil) === b)
        #expect(property.value == nil)
        #expect(property.version == 3)
        let other = WeakObserved(a)
        #expect(other.value === a)
        #expect(other.version == 0)
    }

    @Test("P2 Nil, an object, the same again, another, the first again, nil: each is a change, old is the new before")
    func everySettingIsAChange() {
        let (a, b) = (Referent("a"), Referent("b"))
        let property = WeakObserved<Referent>()
        let received = ReceivedReferents()
        let token = property.observe(received)
        for value in [nil, a, a, b, a, nil] { property.value = value }
        #expect(
            received.lines == [
                "valueChanged nil → nil @1", "valueChanged nil → a @2", "valueChanged a → a @3",
                "valueChanged a → b @4", "valueChanged b → a @5", "valueChanged a → nil @6",
            ]
        )
        token.cancel()
        property.value = b
        #expect(received.count == 6)
    }

    @Test("P11 The property retains nothing, neither what it is made with nor what it is set to; the reader does")
    func retainsNothing() throws {
        let lives = Lives()
        let referent = Slot(Referent("a", life: lives.make()))
        let made = WeakObserved(referent.value)
        let set = WeakObserved<Referent>()
        let tokens = [made, set].map { $0.observe(ReceivedReferents(), options: [.initial, .prior]) }
        set.value = referent.value
        set.value = referent.value
        let reader = Slot(set.value!)
        referent.clear()
        #expect(lives.alive == 1)
        #expect(set.value === reader.value)
        reader.clear()
        #expect(lives.alive == 0)
        #expect(made.value == nil)
        #expect(set.value == nil)
        #expect(made.snapshot().version == 1)
        #expect(set.snapshot().version == 3)
        withExtendedLifetime(tokens) {}
    }

    @Test("P11 Neither observation nor token keeps the property; a referent does not keep it either")
    func propertyIsNotRetained() {
        let a = Referent("a")
        let property = Slot(WeakObserved(a))
        let weak = Weak(property.value!)
        let token = property.value!.observe { (_: Change<Referent?>) in }
        property.value!.value = a
        property.clear()
        #expect(weak.object == nil)
        #expect(!token.isActive)
    }
}

// MARK: - Observing

extension Promises.WeakObservedTests {
    @Test("P4 Options: the initial value, prior deliveries; a change has both values")
    func options() {
        let (a, b) = (Referent("a"), Referent("b"))
        let property = WeakObserved(a)
        let options: [ObservationOptions] = [[], .initial, .prior]
        let received = options.map { _ in ReceivedReferents() }
        let tokens = zip(received, options).map { property.observe($0, options: $1) }
        property.value = b
        #expect(received[0].lines == ["valueChanged a → b @1"])
        #expect(received[1].lines == ["initial - → a @0", "valueChanged a → b @1"])
        #expect(received[2].lines == ["prior - → a @0", "valueChanged a → b @1"])
        withExtendedLifetime(tokens) {}
    }

    @Test("P4 A closure that receives its observation ends it in the initial delivery")
    func endsItself() {
        let a = Referent("a")
        let property = WeakObserved(a)
        let received = ReceivedReferents()
        let token = property.observe(options: .initial) { change, observation in
            received.append(change)
            observation.cancel()
        }
        property.value = nil
        #expect(received.lines == ["initial - → a @0"])
        #expect(!token.isActive)
    }

    @Test("Values alone: each new one, nil too, beginning with the present one if asked for")
    func observeValues() {
        let a = Slot(Referent("a"))
        let property = WeakObserved(a.value)
        let names = Log<String>()
        let tokens = [.initial, []].map { (options: ObservationOptions) in
            property.observeValues(options: options) { names.append($0?.description ?? "nil") }
        }
        property.value = a.value
        a.clear()
        #expect(names.entries == ["a", "a", "a", "nil", "nil"])
        withExtendedLifetime(tokens) {}
    }

    @Test(
        "P13 An owner receives itself; once it dies, its observation is silent; a referent does not receive its own end"
    )
    func owners() {
        let (a, b) = (Slot(Referent("a")), Slot(Referent("b")))
        let property = WeakObserved(a.value)
        let names = Log<String>()
        let tokens = [a, b].map { owner in
            property.observe(owner: owner.value!) { owner, change in names.append("\(owner): \(change.version)") }
        }
        property.value = a.value
        #expect(names.entries == ["a: 1", "b: 1"])
        a.clear()
        #expect(names.entries == ["a: 1", "b: 1", "b: 2"])
        #expect(!tokens[0].isActive)
        b.clear()
        property.value = nil
        #expect(names.count == 3)
        #expect(!tokens[1].isActive)
    }
}

// MARK: - Referents

private actor Clock: WeaklyObservable { let lifetime = ReferentLifetime() }

@MainActor private final class View: WeaklyObservable { let lifetime = ReferentLifetime() }

private class Animal: WeaklyObservable, @unchecked Sendable { let lifetime = ReferentLifetime() }

private final class Dog: Animal, @unchecked Sendable {
    let life: Life
    init(_ life: Life) { self.life = life }
}

extension Promises.WeakObservedTests {
    @Test("P12 Actors, classes of a global actor, and subclasses are referents with one line")
    func kinds() async {
        receivesTheEnd { Clock() }
        let life = Lives()
        receivesTheEnd { Dog(life.make()) }
        #expect(life.alive == 0)
        receivesTheEnd { Dog(life.make()) as Animal }
        await MainActor.run { receivesTheEnd { View() } }
    }

    private func receivesTheEnd<Object: WeaklyObservable>(_ make: () -> Object) {
        let property = WeakObserved<Object>()
        let changes = Log<String>()
        let token = property.observeValues { changes.append($0 == nil ? "nil" : "object") }
        let object = Slot(make())
        property.value = object.value
        object.clear()
        #expect(changes.entries == ["object", "nil"])
        withExtendedLifetime(token) {}
    }
}
