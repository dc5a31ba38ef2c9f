// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P19 Weak properties in commits")
    struct P19WeakCommitTests {}
}

private struct Refusal: Error {}

// MARK: - Setting

extension Promises.P19WeakCommitTests {
    @Test("P19 P20 A weak property and another one change as one, and are in one snapshot")
    func changes() {
        let (active, name) = (WeakObserved<Referent>(), Observed("none"))
        let (first, second) = (Referent("first"), Referent("second"))
        let group = Group(active, name)
        let log = Log<String>()
        let token = active.observe { change in
            let (old, new) = (change.old??.description ?? "nil", change.new?.description ?? "nil")
            log.append("\(old) \(new) \(name.value)")
        }
        group.commit { transaction in
            #expect(transaction[active] == nil)
            transaction[active] = second
            transaction[active] = first
            #expect(transaction[active] === first && active.value == nil)
            transaction[name] = "first"
        }
        #expect(active.snapshot().version == 1 && group.value.0 === first && group.value.1 == "first")
        group.commit { transaction in
            #expect(transaction[active] === first)
            transaction[active] = second
            transaction[name] = "second"
        }
        group.commit { transaction in transaction[active] = nil }
        #expect(active.value == nil && active.version == 3)
        #expect(log.entries == ["nil first first", "first second second", "second nil second"])
        withExtendedLifetime((first, second, token)) {}
    }

    @Test("P11 P19 A body that throws leaves a weak property as it is, and keeps no object")
    func throwing() throws {
        let lives = Lives()
        let (active, name) = (WeakObserved<Referent>(), Observed(0))
        #expect(throws: Refusal.self) {
            try Group(active, name).commit { transaction throws(Refusal) in
                transaction[active] = Referent("refused", life: lives.make())
                throw Refusal()
            }
        }
        #expect(active.value == nil && active.version == 0 && lives.alive == 0)
        active.value = nil
        #expect(active.version == 1)
    }
}

// MARK: - Deaths

extension Promises.P19WeakCommitTests {
    @Test("P12 P19 An object that no one but the commit holds is received, and its death afterwards")
    func dropped() {
        let (active, name) = (WeakObserved<Referent>(), Observed(0))
        let log = Log<String>()
        let token = active.observe { log.append("\($0.version) \($0.new?.description ?? "nil")") }
        Group(active, name).commit { transaction in
            transaction[active] = Referent("replaced in the body")
            transaction[active] = Referent("dropped")
            transaction[name] += 1
        }
        #expect(log.entries == ["1 dropped", "2 nil"] && active.version == 2)
        token.cancel()
    }

    @Test(
        "P12 P19 The object that a member refers to dies in the body: the property becomes nil after it, once",
        arguments: [true, false]
    )
    func diesInBody(throwing: Bool) throws {
        let (active, name) = (WeakObserved<Referent>(), Observed(0))
        let referent = Slot<Referent>()
        do {
            let object = Referent("a referent")
            active.value = object
            referent.put(object)
        }
        let nils = Counter()
        let token = active.observe { change in if change.new == nil { nils.increment() } }
        try? Group(active, name).commit { transaction throws(Refusal) in
            referent.clear()
            #expect(transaction[active] == nil && active.version == 1)
            transaction[name] += 1
            if throwing { throw Refusal() }
        }
        try eventually("the change to nil") { active.version == 2 && nils.value == 1 }
        #expect(active.value == nil && name.value == (throwing ? 0 : 1))
        token.cancel()
    }

    @Test("P12 P19 The object that a commit replaces dies in its body: the new one stays")
    func replacedDies() throws {
        let (active, name) = (WeakObserved<Referent>(), Observed(0))
        let old = Slot<Referent>()
        do {
            let object = Referent("old")
            active.value = object
            old.put(object)
        }
        let new = Referent("new")
        Group(active, name).commit { transaction in
            transaction[active] = new
            old.clear()
        }
        ConcurrentObserveDiagnostics.drain()
        #expect(active.value === new && active.version == 2)
        withExtendedLifetime(new) {}
    }

    @Test("P19 Two bodies in which the object of the other's weak property dies do not wait for each other")
    func ring() throws {
        let properties = [WeakObserved<Referent>(), WeakObserved<Referent>()]
        let referents = [Slot<Referent>(), Slot<Referent>()]
        let inside = [Signal("the first body"), Signal("the second body")]
        for index in 0...1 {
            let object = Referent("a referent")
            properties[index].value = object
            referents[index].put(object)
        }
        let threads = (0...1).map { index in
            TestThread {
                Group(properties[index], Observed(0)).commit { _ in
                    inside[index].happen()
                    try? inside[1 - index].wait()
                    referents[1 - index].clear()
                }
            }
        }
        for thread in threads { try thread.join() }
        try eventually("both changes to nil") { properties.allSatisfy { $0.version == 2 && $0.value == nil } }
    }
}
