// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P11 Nothing is kept")
    struct P11RetainsNothingTests {}
}

extension Promises.P11RetainsNothingTests {
    @Test("P11 Neither observation, token, handle nor notification keeps the source")
    func source() throws {
        let source = Slot(ObserverRegistry<Int>(label: "source"))
        let weak = Weak(source.value!)
        let handles = Slot<ObservationHandle>()
        var tokens: [ObservationToken] = []
        for _ in 0..<20 { tokens.append(source.value!.observe { _ in }) }
        tokens.append(source.value!.observe { (_: Int, observation: ObservationHandle) in handles.put(observation) })
        tokens[0].onEnd { _ in }
        source.value!.notify(1)
        tokens[1].cancel()
        #expect(weak.object != nil)
        source.clear()
        #expect(weak.object == nil)
        #expect(tokens.allSatisfy { !$0.isActive })
        #expect(handles.value?.isActive == false)
    }

    @Test("P11 Neither observation nor notification keeps the owner")
    func owner() {
        let lives = Lives()
        let registry = ObserverRegistry<Int>()
        let received = Counter()
        let owner = Slot(lives.make())
        let token = registry.observe(owner: owner.value!) { owner, _ in
            owner.touch()
            received.increment()
        }
        registry.notify(1)
        registry.notify(2)
        #expect(received.value == 2)
        owner.clear()
        #expect(lives.alive == 0)
        withExtendedLifetime(token) {}
    }

    @Test("P11 A source that its own closure captures is freed when the observation ends")
    func cycle() throws {
        let source = Slot(ObserverRegistry<Int>())
        let weak = Weak(source.value!)
        let token: ObservationToken
        do {
            let captured = source.take()!
            token = captured.observe { [captured] _ in _ = captured.count }
        }
        #expect(weak.object != nil)
        token.cancel()
        try eventually("the end of the source") { weak.object == nil }
    }

    @Test("P11 A token kept by its own onEnd is released with the end")
    func tokenInOnEnd() throws {
        let lives = Lives()
        let registry = ObserverRegistry<Int>()
        do {
            let life = lives.make()
            let token = registry.observe { _ in life.touch() }
            let other = lives.make()
            token.onEnd { [token] _ in
                _ = token.isActive
                other.touch()
            }
        }
        #expect(registry.observationCount == 1)
        registry.cancelAllObservations()
        try lives.waitUntilNoneIsLeft()
    }
}
