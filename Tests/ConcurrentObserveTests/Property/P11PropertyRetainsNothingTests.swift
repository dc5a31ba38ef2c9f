// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P11 Nothing is kept: properties")
    struct P11PropertyRetainsNothingTests {}
}

extension Promises.P11PropertyRetainsNothingTests {
    @Test("P11 Neither observation, token, handle nor change keeps the source")
    func source() {
        let property = Slot(Observed("a"))
        let weak = Weak(property.value!)
        let handle = Slot<ObservationHandle>()
        let received = ReceivedChanges<String>()
        var tokens = (0..<20).map { _ in property.value!.observe(received, options: [.initial, .prior]) }
        tokens.append(property.value!.observe { _, observation in handle.put(observation) })
        tokens[0].onEnd { _ in }
        property.value!.value = "b"
        tokens[1].cancel()
        #expect(weak.object != nil)
        property.clear()
        #expect(weak.object == nil)
        #expect(tokens.allSatisfy { !$0.isActive })
        #expect(handle.value?.isActive == false)
    }

    @Test("P11 Neither observation nor change keeps the owner")
    func owner() {
        let lives = Lives()
        let property = Observed(0)
        let owner = Slot(lives.make())
        let token = property.observe(owner: owner.value!, options: [.initial, .prior]) { owner, _ in owner.touch()
        }
        property.value = 1
        owner.clear()
        #expect(lives.alive == 0)
        withExtendedLifetime(token) {}
    }

    @Test("P11 An object that observes its own property dies, and its property with it")
    func selfObserving() throws {
        final class Model: Sendable {
            let life: Life
            let title = Observed("a")
            let length = Observed(1)
            private let tokens = Log<ObservationToken>()

            init(_ lives: Lives) {
                life = lives.make()
                tokens.append(
                    title.observe(owner: self) { model, change in model.length.value = change.new.count }
                )
            }
        }
        let lives = Lives()
        let model = Slot(Model(lives))
        model.value!.title.value = "abc"
        #expect(model.value!.length.value == 3)
        model.clear()
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P11 A property that its own closure captures is freed when the observation ends")
    func cycle() throws {
        let property = Slot(Observed(0))
        let weak = Weak(property.value!)
        let received = ReceivedChanges<Int>()
        let token: ObservationToken
        do {
            let captured = property.take()!
            token = captured.observe { [captured] change in
                _ = captured.value
                received.append(change)
            }
        }
        #expect(weak.object != nil)
        token.cancel()
        try eventually("the end of the property") { weak.object == nil }
        // Cancelled before: silence.
        #expect(received.count == 0)
    }

    @Test("P11 A property that its own value refers to is freed when the value is replaced")
    func cycleThroughTheValue() throws {
        let property = Slot(Observed<(@Sendable () -> Int)?>(nil))
        let weak = Weak(property.value!)
        do {
            let captured = property.take()!
            captured.value = { [captured] in Int(captured.version) }
            #expect(captured.value?() == 1)
        }
        #expect(weak.object != nil)
        weak.object?.value = nil
        // The replaced value dies on a thread of the library, and the property dies with it.
        try eventually("the end of the property") { weak.object == nil }
    }
}
