// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P5 modify")
    struct P05ModifyTests {}
}

// MARK: - What works inside

extension Promises.P05ModifyTests {
    @Test(
        "P5 Inside modify the property is read in every way, and has its earlier value",
        arguments: numberedTypes.indices
    )
    func reads(index: Int) { readInside(numberedType(index)) }

    private func readInside<Value: Numbered>(_ type: Value.Type) {
        let property = Observed(Value(number: 1))
        property.modify { value in
            for number in 2...3 {
                value = Value(number: number)
                #expect(property.value.number == 1)
                #expect(property.version == 0)
                #expect(property.snapshot() == (Value(number: 1), 0))
                #expect(property.withValue { $0.number } == 1)
            }
        }
        #expect(property.snapshot() == (Value(number: 3), 1))
    }

    @Test("P5 Inside modify observations of the property end in every way, and do not receive the change")
    func ends() throws {
        let property = Observed(0)
        let lives = Lives()
        let received = Counter()
        let outcomes = Log<String>()
        var handles: [ObservationHandle] = []
        let tokens = (0..<3).map { _ in
            let (life, handle) = (lives.make(), Slot<ObservationHandle>())
            let token = property.observe(options: .initial) { change, observation in
                life.touch()
                if change.reason == .initial { handle.put(observation) } else { received.increment() }
            }
            handles.append(handle.take()!)
            return Slot(token)
        }
        // On a thread of its own: one that waits for itself hangs, and the test does not.
        try onNewThread { [handles] in
            property.modify { value in
                tokens[0].value!.cancel()
                handles[1].cancel()
                outcomes.append("\(tokens[0].value!.cancelAndWaitBlocking()) \(tokens[1].value!.isActive)")
                tokens[2].clear()
                outcomes.append("\(ConcurrentObserveDiagnostics.drain())")
                value = 1
            }
        }
        #expect(outcomes.entries == ["deferred false", "deferred"])
        #expect(received.value == 0)
        try lives.waitUntilNoneIsLeft()
        #expect(property.version == 1)
    }

    @Test("P5 Inside modify other properties are read and observed, and other threads change them")
    func otherProperties() throws {
        let (property, other) = (Observed(0), Observed("a"))
        let received = ReceivedChanges<String>()
        let tokens = Log<ObservationToken>()
        let order = Log<String>()
        tokens.append(property.observeValues { order.append("property \($0) \(other.value)") })
        property.modify { value in
            tokens.append(other.observe(received, options: .initial))
            tokens.append(other.observeValues { order.append("other \($0) \(property.value)") })
            let isDone = anotherThreadFinishes {
                other.value = "b"
                other.exchange("c")
                other.modify { $0 += "d" }
                other.compareExchange(expected: "cd", desired: "e")
            }
            #expect(isDone && other.value == "e")
            value = 1
        }
        #expect(
            received.lines == [
                "initial - → a @0", "valueChanged a → b @1", "valueChanged b → c @2", "valueChanged c → cd @3",
                "valueChanged cd → e @4",
            ]
        )
        #expect(order.entries == ["other b 0", "other c 0", "other cd 0", "other e 0", "property 1 e"])
        withExtendedLifetime(tokens) {}
    }

    @Test("P5 modify returns what its body returns, and calls the observers after it, under no lock")
    func result() {
        let property = Observed([1])
        let order = Log<String>()
        let token = property.observe { change in
            order.append("callback")
            // Would trap or hang if the body's lock were held still.
            if change.version == 1 { property.modify { $0.append(3) } }
        }
        let count = property.modify { value -> Int in
            value.append(2)
            order.append("body")
            return value.count
        }
        #expect(count == 2)
        #expect(order.entries == ["body", "callback", "callback"])
        #expect(property.value == [1, 2, 3])
        withExtendedLifetime(token) {}
    }

    @Test("P5 After modify its thread is outside of it again: it sets, observes and waits")
    func outsideAgain() throws {
        let property = Observed(0)
        for throwing in [false, true] {
            try? property.modify { (value: inout Int) throws(Refused) in if throwing { throw Refused(number: 0) } }
            property.value = 1
            let token = property.observe { (_: Change<Int>) in }
            #expect(token.cancelAndWaitBlocking() == .finished)
            #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + patience) == .finished)
        }
    }
}

// MARK: - A body that throws

extension Promises.P05ModifyTests {
    @Test("P5 A body that throws publishes nothing, and no observer is called", arguments: numberedTypes.indices)
    func throwing(index: Int) { throwInside(numberedType(index)) }

    private func throwInside<Value: Numbered>(_ type: Value.Type) {
        let property = Observed(Value(number: 1))
        let received = ReceivedChanges<Value>()
        let token = property.observe(received, options: .prior)
        #expect(throws: Refused(number: 2)) {
            try property.modify { (value: inout Value) throws(Refused) in
                value = Value(number: 2)
                throw Refused(number: value.number)
            }
        }
        #expect(property.snapshot() == (Value(number: 1), 0))
        #expect(received.count == 0)
        property.value = Value(number: 3)
        #expect(received.versions == [1])
        withExtendedLifetime(token) {}
    }

    @Test("P5 What a body that throws has made is destroyed outside the lock")
    func draftIsDestroyedOutside() throws {
        let lives = Lives()
        let property = Observed<Life?>(nil)
        let finished = Log<Bool>()
        #expect(throws: Refused.self) {
            try property.modify { (value: inout Life?) throws(Refused) in
                value = lives.make {
                    // Here, and elsewhere: neither traps nor waits.
                    property.value = nil
                    finished.append(anotherThreadFinishes { property.value = nil })
                }
                throw Refused(number: 0)
            }
        }
        try lives.waitUntilNoneIsLeft()
        #expect(finished.entries == [true])
        #expect(property.version == 2)
    }
}

// MARK: - A body that blocks

extension Promises.P05ModifyTests {
    @Test("P5 A body that blocks holds up neither readers nor the end of observations, nor other properties")
    func blocked() throws {
        let (property, other) = (Observed([0]), Observed([0]))
        let lives = Lives()
        let (entered, exit) = (Signal("the body"), Signal("the body's release"))
        let tokens = (0..<2).map { _ in
            let life = lives.make()
            return property.observe { (_: Change<[Int]>) in life.touch() }
        }
        let writer = TestThread {
            property.modify { value in
                entered.happen()
                exit.hold()
                value = [1]
            }
        }
        try entered.wait()
        let isRead = anotherThreadFinishes {
            #expect(property.value == [0])
            #expect(property.snapshot() == ([0], 0))
            #expect(property.withValue { $0.count } == 1)
            tokens[0].cancel()
            #expect(tokens[1].cancelAndWaitBlocking() == .finished)
            let token = other.observe { (_: Change<[Int]>) in }
            other.value = [2]
            token.cancel()
            #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + patience) == .finished)
        }
        #expect(isRead)
        #expect(lives.alive == 0)

        // Registrations do not wait either; other changes do.
        let received = ReceivedChanges<[Int]>()
        let token = Slot<ObservationToken>()
        #expect(anotherThreadFinishes { token.put(property.observe(received, options: .initial)) })
        let isSet = Signal("a set")
        let waiting = TestThread {
            property.modify { $0.append(2) }
            isSet.happen()
        }
        #expect(!isSet.happens(within: glance))
        exit.happen()
        try isSet.wait()
        for thread in [waiting, writer] { try thread.join() }
        #expect(property.value == [1, 2])
        #expect(received.changes.map(\.version).sorted() == [0, 1, 2])
        token.clear()
    }
}

private struct Refused: Error, Equatable { let number: Int }
