// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P12 The death of a weak property's referent")
    struct P12WeakObservedDeathTests {}
}

// MARK: - What is delivered

extension Promises.P12WeakObservedDeathTests {
    @Test("P12 valueChanged to nil, once, with the next version, whatever the options; the old one is gone")
    func once() throws {
        let referent = Slot(Referent("a"))
        let property = WeakObserved<Referent>()
        property.value = referent.value
        let options: [ObservationOptions] = [[], .prior, .initial, [.initial, .prior]]
        let received = options.map { _ in ReceivedReferents() }
        let tokens = zip(received, options).map { property.observe($0, options: $1) }
        referent.clear()
        let expected = [
            ["valueChanged nil → nil @2"], ["valueChanged nil → nil @2"],
            ["initial - → a @1", "valueChanged nil → nil @2"], ["initial - → a @1", "valueChanged nil → nil @2"],
        ]
        #expect(received.map(\.lines) == expected)
        #expect(property.version == 2)
        #expect(tokens.allSatisfy { $0.isActive })
        try Process.settle()
        #expect(received.map(\.lines) == expected)
    }

    @Test("P12 On the thread of the last release, after the referent's own deinit, before the release returns")
    func whereAndWhen() throws {
        let order = Log<String>()
        let property = WeakObserved<Referent>()
        let lives = Lives()
        let referent = Slot(
            Referent("a", life: lives.make { order.append("stored \(threadNumber())") }) { _ in
                // Nil already; delivered later.
                order.append("deinit \(property.value?.description ?? "nil") @\(property.version)")
            }
        )
        property.value = referent.value
        let token = property.observe { change in order.append("@\(change.version) \(threadNumber())") }
        let dropping = Slot<Int>()
        try onNewThread {
            dropping.put(threadNumber())
            referent.clear()
            order.append("returned")
        }
        let thread = dropping.value!
        #expect(order.entries == ["deinit nil @1", "@2 \(thread)", "stored \(thread)", "returned"])
        #expect(lives.alive == 0)
        withExtendedLifetime(token) {}
    }

    @Test("P12 Set to something else before, to nil or to another: silence, and the successor stays")
    func replacedBefore() {
        let (a, b) = (Slot(Referent("a")), Slot(Referent("b")))
        let property = WeakObserved(a.value)
        property.value = b.value
        let received = ReceivedReferents()
        let token = property.observe(received)
        a.clear()
        #expect(received.count == 0)
        #expect(property.value === b.value)
        property.value = nil
        b.clear()
        #expect(received.lines == ["valueChanged b → nil @2"])
        withExtendedLifetime(token) {}
    }

    @Test("P12 Set twice, or set to another and back: its death is one change")
    func setAgain() {
        let (a, b) = (Slot(Referent("a")), Slot(Referent("b")))
        let property = WeakObserved(a.value)
        for referent in [a, b, a, a] { property.value = referent.value }
        let received = ReceivedReferents()
        let token = property.observe(received)
        b.clear()
        a.clear()
        #expect(received.lines == ["valueChanged nil → nil @5"])
        withExtendedLifetime(token) {}
    }

    @Test("P12 Of many weak properties each receives it, once")
    func manyProperties() {
        let referent = Slot(Referent("a"))
        let properties = (0..<50).map { _ in WeakObserved(referent.value) }
        let received = properties.map { _ in ReceivedReferents() }
        let tokens = zip(properties, received).map { $0.observe($1) }
        referent.clear()
        #expect(received.allSatisfy { $0.lines == ["valueChanged nil → nil @1"] })
        withExtendedLifetime(tokens) {}
    }

    @Test("P3 Cancelled before: silence; an observer that registers afterwards receives the present value, nil")
    func cancelledBefore() {
        let referent = Slot(Referent("a"))
        let property = WeakObserved(referent.value)
        let (received, later) = (ReceivedReferents(), ReceivedReferents())
        let token = property.observe(received)
        token.cancel()
        referent.clear()
        #expect(received.count == 0)
        let second = property.observe(later, options: .initial)
        #expect(later.lines == ["initial - → nil @1"])
        withExtendedLifetime(second) {}
    }
}

// MARK: - The property's own death

extension Promises.P12WeakObservedDeathTests {
    @Test(
        "P12 The property dies: its observation ends once, last; the referent's death is not delivered then"
    )
    func propertyFirst() throws {
        for dies in [false, true] {
            let referent = Slot(Referent("a"))
            let property = Slot(WeakObserved(referent.value))
            let received = ReceivedReferents()
            let token = property.value!.observe(received).recordEnd(to: received)
            if dies { referent.clear() }
            property.clear()
            referent.clear()
            #expect(!token.isActive)
            try received.ended.wait()
            try Process.settle()
            #expect(received.lines == (dies ? ["valueChanged nil → nil @1", "sourceDeleted"] : ["sourceDeleted"]))
        }
    }

    @Test("P14 What observes the referent ends with the property, with the next setting, and with the referent")
    func nothingIsLeft() throws {
        try Process.settle()
        let before = ConcurrentObserveDiagnostics.current().liveObservers
        var observing: Int { ConcurrentObserveDiagnostics.current().liveObservers - before }
        let (a, b) = (Slot(Referent("a")), Slot(Referent("b")))
        let properties = Slot((0..<10).map { _ in WeakObserved(a.value) })
        #expect(observing == 10)
        for _ in 0..<1000 { properties.value![0].value = a.value }
        #expect(observing == 10)
        properties.value![1].value = b.value
        #expect(observing == 10)
        properties.value![2].value = nil
        #expect(observing == 9)
        b.clear()
        #expect(observing == 8)
        properties.clear()
        #expect(observing == 0)
        try Process.settle()
        #expect(ConcurrentObserveDiagnostics.current().backlog == 0)
        a.clear()
    }

    @Test(
        "P6 A callback that receives the death may drop the last reference to the property: then its end, then no more"
    )
    func dropsTheProperty() throws {
        let referent = Slot(Referent("a"))
        let property = Slot(WeakObserved(referent.value))
        let received = ReceivedReferents()
        let token = property.value!.observe { change in
            received.append(change)
            property.clear()
        }
        token.recordEnd(to: received)
        referent.clear()
        try received.ended.wait()
        #expect(received.lines == ["valueChanged nil → nil @1", "sourceDeleted"])
        #expect(!token.isActive)
    }
}

// MARK: - Misuse

/// A referent that returns a new lifetime each time, which dies at once.
private final class Forgetful: WeaklyObservable { var lifetime: ReferentLifetime { ReferentLifetime() } }

extension Promises.P12WeakObservedDeathTests {
    @Test("P12 A lifetime that the referent does not store traps, and the message says what to write")
    func computedLifetime() async throws {
        let result = try #require(
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                WeakObserved<Forgetful>().value = Forgetful()
            }
        )
        #expect(
            String(decoding: result.standardErrorContent, as: UTF8.self).contains("let lifetime = ReferentLifetime()")
        )
    }
}
