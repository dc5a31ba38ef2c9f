// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P12 A referent's death against everything else")
    struct P12WeakObservedRacesTests {}
}

extension Promises.P12WeakObservedRacesTests {
    @Test("P12 Against the setting of another: the other stays, no version is missing, nil is delivered at most once")
    func successor() throws {
        for _ in 0..<1000 {
            let (a, b) = (Slot(Referent("a")), Slot(Referent("b")))
            let property = WeakObserved(a.value)
            let received = ReceivedReferents()
            let token = property.observe(received)
            try onThreads(2) { thread in if thread == 0 { a.clear() } else { property.value = b.value } }
            #expect(property.value === b.value)
            #expect([["b"], ["nil", "b"]].contains(received.versions.map(\.new)), "\(received.lines)")
            b.clear()
            #expect(received.versions.last?.new == "nil")
            #expect(received.versions.map(\.version) == Array(1...property.version))
            withExtendedLifetime(token) {}
        }
    }

    @Test(
        "P12 A property that always refers to an object is never read as nil, though the one before has lost its owner"
    )
    func neverNil() throws {
        let (owner, isOver, nils) = (Slot(Referent("0")), Flag(), Counter())
        let property = WeakObserved(owner.value)
        let (named, read) = (property.map { $0 == nil }, Derived { get in get(property) == nil })
        let writer = TestThread {
            for number in 1...20_000 {
                let next = Referent("\(number)")
                property.value = next
                owner.put(next)
            }
            isOver.set()
        }
        try onThreads(2) { _ in
            while !isOver.isSet {
                if property.value == nil || property.snapshot().value == nil { nils.increment() }
                if named.value || read.value { nils.increment() }
            }
        }
        try writer.join()
        #expect(nils.value == 0)
    }

    @Test(
        "P12 Two properties and their referents' last owners on several threads: each death is delivered once per property"
    )
    func manyDeaths() throws {
        let lives = Lives()
        let properties = (0..<2).map { _ in WeakObserved<Referent>() }
        let received = properties.map { _ in ReceivedReferents() }
        let tokens = zip(properties, received).map { $0.observe($1) }
        try onThreads(4) { thread in
            for round in 0..<300 {
                let referent = Referent("\(thread).\(round)", life: lives.make())
                for property in properties { property.value = referent }
                // The last owner may be a reading thread.
                _ = properties[round % 2].value?.description
            }
        }
        #expect(lives.alive == 0)
        for (property, received) in zip(properties, received) {
            let versions = received.versions
            #expect(versions.map(\.version) == Array(1...property.version))
            #expect(versions.last?.new == "nil")
            // No thread sets nil, so that each is a death: of what stood there, once.
            #expect(!zip(versions, versions.dropFirst()).contains { $0.new == "nil" && $1.new == "nil" })
            #expect(versions.count { $0.new != "nil" } == 1200)
        }
        withExtendedLifetime(tokens) {}
    }

    @Test("P4 Against a registration: what is initial and what follows end with nil, without a gap")
    func registration() throws {
        for _ in 0..<1000 {
            let referent = Slot(Referent("a"))
            let property = WeakObserved(referent.value)
            let received = ReceivedReferents()
            let token = Slot<ObservationToken>()
            try onThreads(2) { thread in
                if thread == 0 { return referent.clear() }
                token.put(property.observe(received, options: .initial))
            }
            #expect(received.lines.count { $0.hasPrefix("initial") } == 1)
            let knew = received.lines.contains("initial - → nil @1")
            #expect(received.versions.map(\.version) == (knew ? [] : [1]), "\(received.lines)")
            token.clear()
        }
    }

    @Test("P12 Against the death of the property: its end is delivered once, last, and nothing is left")
    func propertyDeath() throws {
        try Process.settle()
        let before = ConcurrentObserveDiagnostics.current().liveObservers
        for _ in 0..<1000 {
            let lives = Lives()
            let referent = Slot(Referent("a", life: lives.make()))
            let property = Slot(WeakObserved(referent.value))
            let received = ReceivedReferents()
            let token = property.value!.observe(received).recordEnd(to: received)
            try onThreads(2) { thread in if thread == 0 { referent.clear() } else { property.clear() } }
            #expect(lives.alive == 0)
            try received.ended.wait()
            #expect(received.lines.count { $0.hasPrefix("sourceDeleted") } == 1)
            #expect(received.lines.last?.hasPrefix("sourceDeleted") == true)
            #expect(received.count <= 2)
            #expect(!token.isActive)
        }
        #expect(ConcurrentObserveDiagnostics.current().liveObservers == before)
        try Process.settle()
    }

    @Test("P9 After cancelAndWait no death is delivered, whatever dies meanwhile")
    func cancelAndWait() throws {
        for _ in 0..<500 {
            let referent = Slot(Referent("a"))
            let property = WeakObserved(referent.value)
            let (isOver, late) = (Flag(), Counter())
            let token = property.observe { (_: Change<Referent?>) in if isOver.isSet { late.increment() } }
            try onThreads(2) { thread in
                if thread == 0 { return referent.clear() }
                token.cancelAndWaitBlocking()
                isOver.set()
            }
            #expect(late.value == 0)
            #expect(property.version == 1)
        }
    }
}
