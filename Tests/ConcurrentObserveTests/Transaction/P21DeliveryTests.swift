// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Glibc
import Testing

extension Promises {
    @Suite("P21 One delivery per commit")
    struct P21DeliveryTests {}
}

extension Promises.P21DeliveryTests {
    @Test("P1 A commit wakes the mailboxes of all members before it calls the first inline observer")
    func mailboxesFirst() throws {
        let members = (0..<3).map { _ in Observed(0) }
        let woken = members.indices.map { Signal("the mailbox of member \($0)") }
        let queued = members.indices.map { index in
            members[index].observe(delivery: .queue(DispatchQueue(label: "member"))) { _ in woken[index].happen() }
        }
        // Whichever member comes first: its observer waits for what the others' mailboxes deliver.
        let areWoken = Log<Bool>()
        let inline = members.map { member in
            member.observe { _ in areWoken.append(woken.allSatisfy { $0.happens(within: patience) }) }
        }
        PropertyList(members).commit { transaction in for member in members { transaction[member] = 1 } }
        #expect(areWoken.entries == [true, true, true])
        withExtendedLifetime((queued, inline)) {}
    }

    @Test("P1 A commit relinks the paths of all members before it calls the first inline observer")
    func pathsFirst() {
        let cars = [Car(1), Car(1)]
        let wheels = cars.map { _ in Wheel(7) }
        let received = Log<Int>()
        let paths = cars.map { $0.property(\.axle.wheel.pressure).observe { received.append($0.new) } }
        // Sets what both new paths lead to.
        let inline = cars.map { car in
            car.axle.observe { _ in for wheel in wheels { wheel.pressure.value += 1 } }
        }
        Group(cars[0].axle, cars[1].axle).commit { transaction in
            for (car, wheel) in zip(cars, wheels) { transaction[car.axle] = Axle(wheel) }
        }
        // Each path: what it leads to now, and the changes by two observers.
        #expect(received.entries.sorted() == [7, 7, 8, 8, 9, 9])
        withExtendedLifetime((paths, inline)) {}
    }

    @Test(
        "P21 An observer of a group receives each commit once, whole, and other changes as before",
        arguments: [false, true]
    )
    func once(isSerial: Bool) {
        let (first, second, third) = (Observed(0), Observed("a"), Observed(0))
        let group = Group(second, first.readOnly, third)
        let log = Log<String>()
        let token = group.observe(options: .initial, delivery: isSerial ? .serial() : .inline) { change in
            log.append("\(change.old.map { "\($0)" } ?? "-") → \(change.new) @\(change.version)")
        }
        Group(first, second).commit { transaction in
            transaction[first] = 1
            transaction[first] = 2
            transaction[second] = "b"
        }
        third.value = 7
        Group(first, second, third).commit { transaction in
            transaction[third] = 8
            transaction[second] = "c"
        }
        Group(first, third).commit { _ in }
        #expect(
            log.entries == [
                #"- → ("a", 0, 0) @0"#, #"("a", 0, 0) → ("b", 2, 0) @1"#, #"("b", 2, 0) → ("b", 2, 7) @2"#,
                #"("b", 2, 7) → ("c", 2, 8) @3"#,
            ]
        )
        token.cancel()
    }

    @Test("P21 Lists, groups of groups and sequences receive a commit as one")
    func forms() async {
        let properties = (0..<4).map { _ in Observed(0) }
        let list = PropertyList(properties)
        let received = Log<[Int]>()
        let token = list.observe { received.append($0.new) }
        let pairs = Group(Group(properties[0], properties[1]), Group(properties[2], properties[3]))
        let nested = Log<String>()
        let another = pairs.observe { nested.append("\($0.new)") }
        var values = list.values().makeAsyncIterator()
        for round in 1...3 {
            list.commit { transaction in for property in properties.reversed() { transaction[property] = round } }
        }
        #expect(received.entries == [[1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]])
        for round in 1...3 { #expect(await values.next() == Array(repeating: round, count: 4)) }
        #expect(nested.entries == (1...3).map { "((\($0), \($0)), (\($0), \($0)))" })
        withExtendedLifetime((token, another)) {}
    }

    @Test("P21 Members that are paths, weak properties, views, groups: each commit is received once, whole")
    func indirect() {
        let (car, name, weak) = (Car(0), Observed("0"), WeakObserved<Referent>())
        let fleet = Fleet(car)
        let pressure = fleet.property(\.car.axle.wheel.pressure)
        let log = Log<String>()
        let others = Group(weak, fleet.property(\.car.mileage))
        let token = Group(pressure, PropertyList([name.readOnly]), others).observe {
            log.append("\($0.new.0) \($0.new.1[0]) \($0.new.2.0?.description ?? "-") \($0.new.2.1) @\($0.version)")
        }
        let referents = (1...3).map { Referent("\($0)") }
        for (index, referent) in referents.enumerated() {
            Group(pressure, Group(name, weak), fleet.property(\.car.mileage)).commit { transaction in
                transaction[weak] = referent
                transaction[fleet.property(\.car.mileage)] = index + 1
                transaction[pressure] = index + 1
                transaction[name] = "\(index + 1)"
            }
        }
        #expect(log.entries == (1...3).map { "\($0) \($0) \($0) \($0) @\($0)" })
        token.cancel()
    }

    @Test("P4 P21 Beside commits, a group's initial value is whole, and each later commit follows once")
    func initial() throws {
        let (first, second) = (Observed(0), Observed("0"))
        let (there, back) = (Group(first, second), Group(second, first))
        let mistakes = Counter()
        let writers = Hammer(threads: 2) {
            there.commit { transaction in
                transaction[first] += 1
                transaction[second] = "\(transaction[first])"
            }
        }
        try writers.waitUntilWarm()
        try onThreads(2) { index in
            for _ in 0..<300 {
                let log = Log<(Int, String)>()
                let token =
                    index == 0
                    ? there.observe(options: .initial, delivery: .serial()) { log.append($0.new) }
                    : back.observe(options: .initial, delivery: .serial()) { log.append(($0.new.1, $0.new.0)) }
                let seen = first.value
                _ = token.cancelAndWaitBlocking()
                let entries = log.entries
                for (number, entry) in entries.enumerated()
                where "\(entry.0)" != entry.1 || entry.0 != entries[0].0 + number { mistakes.increment() }
                if entries.isEmpty || entries[0].0 > seen { mistakes.increment() }
            }
        }
        try writers.stop()
        #expect(mistakes.value == 0)
    }

    @Test("P21 P14 A group that has lost a member keeps no commits for an observer that is still in a callback")
    func afterALoss() throws {
        let (first, second) = (Observed<Referent?>(nil), Observed(0))
        let (entered, left) = (Signal("the callback"), Signal("the end of the commits"))
        let token = Group(first, second).observe { change in
            guard change.new.1 == 1 else { return }
            entered.happen()
            try? left.wait()
        }
        let thread = TestThread { Group(second).commit { transaction in transaction[second] = 1 } }
        try entered.wait()
        second.cancelAllObservations()
        weak var kept: Referent?
        for _ in 0..<2 {
            let referent = Referent("")
            Group(first).commit { transaction in transaction[first] = referent }
            kept = kept ?? referent
        }
        Group(first).commit { transaction in transaction[first] = nil }
        first.value = Referent("")
        let isGone = Result { try eventually("the end of a replaced value") { kept == nil } }
        left.happen()
        try thread.join()
        _ = try isGone.get()
        token.cancel()
    }

    @Test("P21 P8 While the observations of a member are cancelled, no observer receives a part of a commit")
    func besideCancellation() throws {
        let (first, second) = (Observed(0), Observed(0))
        let (group, mixtures) = (Group(first, second), Counter())
        let writer = Hammer(threads: 1) {
            group.commit { transaction in
                transaction[first] += 1
                transaction[second] += 1
            }
        }
        let canceller = Hammer(threads: 1) {
            first.cancelAllObservations()
            for _ in 0..<20 { sched_yield() }
        }
        try writer.waitUntilWarm()
        for _ in 0..<10_000 {
            let token = group.observe(options: .initial) { change in
                if change.new.0 != change.new.1 { mixtures.increment() }
            }
            token.cancel()
        }
        try writer.stop()
        try canceller.stop()
        #expect(mixtures.value == 0)
    }

    @Test("P21 Each of many commits by several threads is received once, in order, whole")
    func manyThreads() async throws {
        let properties = (0..<3).map { _ in Observed(0) }
        let (first, second, other) = (properties[0], properties[1], properties[2])
        let (mistakes, last) = (Counter(), Slot((0, 0, 0)))
        let received = Counter()
        let token = Group(first, second, other).observe(delivery: .serial()) { change in
            let (old, new) = (last.value!, change.new)
            if new.0 != new.1 || change.old! != old { mistakes.increment() }
            if !(new.0 == old.0 + 1 && new.2 == old.2) && !(new.0 == old.0 && new.2 == old.2 + 1) {
                mistakes.increment()
            }
            last.put(new)
            received.increment()
        }
        try onThreads(3) { index in
            let group = index == 0 ? Group(first, second) : Group(second, first)
            for _ in 0..<2_000 {
                if index == 2 {
                    other.modify { $0 += 1 }
                } else {
                    group.commit { transaction in
                        transaction[first] += 1
                        transaction[second] += 1
                    }
                }
            }
        }
        // A thread that has delivered enough of the others' commits leaves the rest to a thread of
        // the library.
        await token.flush()
        #expect(mistakes.value == 0 && received.value == 6_000)
        #expect(last.value! == (4_000, 4_000, 2_000))
        token.cancel()
    }

    @Test("P5 P14 P21 What a commit replaces in a group's observation is destroyed under no lock, once")
    func destruction() throws {
        let lives = Lives()
        do {
            let (first, second) = (Observed(lives.make()), Observed(lives.make()))
            let probe = Observed(0)
            let received = Counter()
            let token = Group(first, second).observe { _ in received.increment() }
            for _ in 0..<50 {
                Group(first, second).commit { transaction in
                    transaction[first] = lives.make { probe.modify { $0 += 1 } }
                    transaction[second] = lives.make { first.observe { _ in }.cancel() }
                }
            }
            #expect(received.value == 50)
            token.cancel()
        }
        try lives.waitUntilNoneIsLeft()
    }
}

// MARK: - Bindings, paths

extension Promises.P21DeliveryTests {
    @Test("P3 P21 A commit of both sides of a pair: they agree afterwards")
    func pair() {
        let (left, right) = (Observed(0), Observed(0))
        let token = left.bindBidirectionally(with: right)
        for round in 1...3 {
            Group(left, right).commit { transaction in
                transaction[left] = 10 * round
                transaction[right] = 10 * round + 1
            }
            #expect(left.value == right.value)
        }
        token.cancel()
    }

    @Test("P3 P21 A commit of the members of a group that is bound to one of them: it ends, and all agree")
    func cycle() {
        let (number, first, second) = (Observed(0), Observed(0), Observed(0))
        let tokens = [
            number.bind(to: first), number.bind(to: second), Group(first, second).bind(to: number) { $0.1 },
        ]
        Group(first, second).commit { transaction in
            transaction[first] = 5
            transaction[second] = 7
        }
        #expect(number.value == 7 && first.value == 7 && second.value == 7)
        withExtendedLifetime(tokens) {}
    }

    @Test("P21 A commit in a callback of a commit, and in one of a group: each is received once, in order")
    func nested() {
        let (first, second) = (Observed(0), Observed(0))
        let group = Group(first, second)
        let log = Log<String>()
        let add: @Sendable (Int) -> Void = { number in
            group.commit { transaction in
                transaction[first] += number
                transaction[second] += number
            }
        }
        let tokens = [
            group.observe { change in
                if change.new.0 == 1 { add(10) }
                log.append("\(change.new) @\(change.version)")
            },
            second.observe { change in if change.new == 11 { add(100) } },
        ]
        add(1)
        #expect(log.entries.sorted { $0.count < $1.count } == ["(1, 1) @1", "(11, 11) @2", "(111, 111) @3"])
        withExtendedLifetime(tokens) {}
    }

    @Test("P19 A commit that replaces an object and sets the new one's property: a path receives one change")
    func linkAndLeaf() {
        let root = LinkRoot()
        let log = Log<String>()
        let token = root.property(\.node.number).observe { change in
            log.append("\(change.old ?? -1) → \(change.new) @\(change.version)")
        }
        for target in [LinkNode(), LinkNode()] {
            Group(target.number, root.node).commit { transaction in
                transaction[target.number] = 7
                transaction[root.node] = target
            }
        }
        #expect(log.entries == ["0 → 7 @1", "7 → 7 @2"])
        token.cancel()
    }

    @Test("P2 P19 A commit that changes the last property of a path and leaves it: the path's versions have no gap")
    func leafAndLink() {
        for _ in 0..<20 {
            let (root, target) = (LinkRoot(), LinkNode())
            target.number.value = 7
            let log = Log<Change<Int>>()
            let token = root.property(\.node.number).observe { log.append($0) }
            let left = root.node.value.number
            Group(left, root.node).commit { transaction in
                transaction[left] = 5
                transaction[root.node] = target
            }
            let received = log.entries.sorted { $0.version < $1.version }
            #expect(received.map(\.new) == [5, 7] || received.map(\.new) == [7])
            #expect(received.map(\.version) == Array(1...UInt64(received.count)))
            #expect(received.first?.old == 0 && zip(received, received.dropFirst()).allSatisfy { $0.new == $1.old })
            token.cancel()
        }
    }
}

private final class LinkRoot: ConcurrentObservable {
    let node = Observed(LinkNode())
}

private final class LinkNode: ConcurrentObservable {
    let number = Observed(0)
}
