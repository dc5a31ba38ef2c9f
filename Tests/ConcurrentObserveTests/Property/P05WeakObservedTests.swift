// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P5 P6 Referents that die in the library's hands")
    struct P05WeakObservedTests {}
}

extension Promises.P05WeakObservedTests {
    @Test("P5 A reader is the last owner: the referent dies on its thread, and its death is delivered there")
    func reader() throws {
        let referent = Slot(Referent("a"))
        let property = WeakObserved(referent.value)
        let received = Log<Int>()
        let token = property.observe { change in received.append(threadNumber()) }
        let reading = Log<Int>()
        try onNewThread {
            reading.append(threadNumber())
            let held = Slot(property.value!)
            referent.clear()
            if received.count != 0 { reading.append(0) }
            held.clear()
        }
        #expect(received.entries == reading.entries)
        #expect(property.version == 1)
        withExtendedLifetime(token) {}
    }

    /// The value of a change that retains the referent last.
    enum LastOwner: String, CaseIterable, Sendable {
        case new, old, prior, initial

        var options: ObservationOptions {
            switch self {
            case .new, .old: []
            case .prior: .prior
            case .initial: .initial
            }
        }
    }

    @Test(
        "P5 A callback is the last owner, by the new value, the old or the prior one: the referent dies there, under no lock",
        arguments: LastOwner.allCases
    )
    func callback(owner: LastOwner) throws {
        let lives = Lives()
        let property = WeakObserved<Referent>()
        let referent = Slot<Referent>()
        let (received, free) = (ReceivedReferents(), Log<Bool>())
        // Other threads get through everything that takes the property's locks.
        referent.put(
            Referent("a", life: lives.make()) { _ in
                free.append(
                    anotherThreadFinishes {
                        _ = property.value
                        property.value = nil
                        property.observe(ReceivedReferents(), options: .initial).cancel()
                    }
                )
            }
        )
        let isNew = owner == .new
        if !isNew { property.value = referent.value }
        let token = property.observe(options: owner.options) { change in
            received.append(change)
            referent.clear()
        }
        // The setter holds what it is given.
        property.value = isNew ? referent.value : nil
        #expect(lives.alive == 0)
        #expect(free.entries == [true])
        #expect(property.value == nil)
        #expect(received.versions.map(\.version) == Array(UInt64(isNew ? 1 : 2)...property.version))
        withExtendedLifetime(token) {}
    }

    @Test(
        "P6 A callback that receives the death sets the property again, cancels, observes, and blocks no other thread"
    )
    func reentrancy() throws {
        let (a, b) = (Slot(Referent("a")), Referent("b"))
        let property = WeakObserved(a.value)
        let received = ReceivedReferents()
        let extra = Slot<ObservationToken>()
        let free = Log<Bool>()
        let token = property.observe { change, observation in
            received.append(change)
            guard change.version == 1 else { return }
            free.append(anotherThreadFinishes { property.value = b })
            extra.put(property.observe(received))
            property.value = nil
            observation.cancel()
        }
        a.clear()
        #expect(free.entries == [true])
        // Set by the other thread, then here: delivered to both.
        #expect(
            received.lines == [
                "valueChanged nil → nil @1", "valueChanged nil → b @2", "valueChanged b → nil @3",
                "valueChanged b → nil @3",
            ]
        )
        #expect(!token.isActive)
        extra.clear()
    }

    @Test(
        "P6 An observation that an earlier callback of the same death cancels receives nothing, of another property too"
    )
    func cancelled() {
        let referent = Slot(Referent("a"))
        let properties = (0..<2).map { _ in WeakObserved(referent.value) }
        let received = ReceivedReferents()
        let victims = Slot<[ObservationToken]>()
        let first = properties[0].observe { _ in for victim in victims.value! { victim.cancel() } }
        victims.put(properties.map { $0.observe(received) })
        referent.clear()
        #expect(received.count == 0)
        #expect(properties.map(\.version) == [1, 1])
        withExtendedLifetime(first) {}
        victims.clear()
    }

    @Test("P5 A referent that dies in a withValue: its death is delivered there")
    func insideWithValue() {
        let referent = Slot(Referent("a"))
        let weak = WeakObserved(referent.value)
        let received = ReceivedReferents()
        let token = weak.observe(received)
        Observed("text").withValue { _ in referent.clear() }
        #expect(received.lines == ["valueChanged nil → nil @1"])
        withExtendedLifetime(token) {}
    }

    @Test(
        "P5 A referent that dies in the body of a modify or a commit: observers are called outside it, and may change its properties"
    )
    func insideBodies() {
        let (a, b) = (Slot(Referent("a")), Slot(Referent("b")))
        let weak = [WeakObserved(a.value), WeakObserved(b.value)]
        let (other, count) = (Observed("text"), Observed(0))
        let received = ReceivedReferents()
        let threads = Log<Int>()
        func callsOnThisThread() -> Int { threads.entries.count { $0 == threadNumber() } }
        let tokens =
            weak.map { $0.observe(received) } + weak.map { $0.observe { _ in threads.append(threadNumber()) } }
            + weak.map { $0.observe { _ in Group(other, count).commit { $0[count] += 1 } } }
        other.modify { value in
            a.clear()
            #expect(weak[0].value == nil)
            // Another thread may already have called the observers.
            #expect(callsOnThisThread() == 0)
            value = "changed"
        }
        Group(other, count).commit { transaction in
            let before = callsOnThisThread()
            b.clear()
            #expect(callsOnThisThread() == before)
            transaction[other] = "committed"
        }
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(20)) == .finished)
        #expect(received.lines == ["valueChanged nil → nil @1", "valueChanged nil → nil @1"])
        #expect(count.value == 2)
        #expect(other.value == "committed")
        withExtendedLifetime(tokens) {}
    }

    @Test(
        "P6 A referent whose deinit sets the property, to nil, to another, or to itself: no change is lost or too many"
    )
    func inItsDeinit() {
        let property = WeakObserved<Referent>()
        let b = Referent("b")
        let ways: [@Sendable (Referent) -> Void] = [
            { _ in property.value = nil }, { _ in property.value = b }, { property.value = $0 },
        ]
        let expected = [
            ["valueChanged nil → a @1", "valueChanged nil → nil @2"],
            ["valueChanged nil → a @3", "valueChanged nil → b @4"],
            // It is dying: no observer can receive it any more. Then its death, as ever.
            ["valueChanged b → a @5", "valueChanged nil → nil @6", "valueChanged nil → nil @7"],
        ]
        for (way, expected) in zip(ways, expected) {
            let received = ReceivedReferents()
            let token = property.observe(received)
            let a = Slot(Referent("a", atDeinit: way))
            property.value = a.value
            a.clear()
            #expect(received.lines == expected)
            token.cancel()
        }
    }
}
