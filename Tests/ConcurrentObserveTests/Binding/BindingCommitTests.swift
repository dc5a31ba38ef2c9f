// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P21 Bindings follow commits")
    struct BindingCommitTests {}
}

extension Promises.BindingCommitTests {
    @Test("P21 Each destination of a commit changes once, by itself, and so do those that follow it")
    func byItself() {
        let (source, destination) = (Couple(), Couple())
        let far = Couple()
        let tokens = [
            source.number.bind(to: destination.number),
            source.name.bind(to: destination.name) { "<\($0)>" },
            destination.name.bind(to: far.name), destination.number.bind(to: far.number) { -$0 },
        ]
        let log = Log<String>()
        let witnesses = [
            source.observe { log.append("source \($0)") },
            destination.number.observe { log.append("number \($0.new) @\($0.version) \($0.commit == nil)") },
            destination.name.observe { log.append("name \($0.new) @\($0.version) \($0.commit == nil)") },
            far.number.observe { log.append("far \($0.new)") }, far.name.observe { log.append("far \($0.new)") },
        ]
        source.commit(1)
        source.commit(2)
        let expected = (1...2).flatMap { value in
            [
                "source (\(value), \"\(value)\")", "number \(value) @\(value + 1) true",
                "name <\(value)> @\(value + 1) true", "far -\(value)", "far <\(value)>",
            ]
        }
        #expect(log.entries.sorted() == expected.sorted())
        withExtendedLifetime((tokens, witnesses)) {}
    }

    @Test("P1 P21 A binding is called in the order of registration, as every inline observer")
    func order() {
        let (source, destination) = (Couple(), Couple())
        let seen = Log<Int>()
        let early = source.number.observe { _ in seen.append(destination.number.value) }
        let tokens = destination.bind(to: source)
        let late = source.number.observe { _ in seen.append(destination.number.value) }
        source.commit(1)
        #expect(seen.entries == [0, 1])
        withExtendedLifetime((early, tokens, late)) {}
    }

    @Test("P3 P21 Pairs: a commit of either sides reaches the others, and does not come back")
    func bothWays() {
        let (left, right) = (Couple(), Couple())
        let tokens = [
            left.number.bindBidirectionally(with: right.number, forward: { $0 * 2 }, backward: { $0 / 2 }),
            right.name.bindBidirectionally(with: left.name),
        ]
        left.commit(1)
        #expect(left.values == (1, "1") && right.values == (2, "1"))
        right.commit(4)
        #expect(left.values == (2, "4") && right.values == (4, "4"))
        #expect(left.number.version == 2 && right.name.version == 2)
        withExtendedLifetime(tokens) {}
    }

    @Test("P21 A path and a group: their destinations change once by each commit")
    func forms() {
        let (car, name) = (Car(0), Observed("0"))
        let fleet = Fleet(car)
        let (mileage, shown, both) = (Observed(0), Observed("0"), Observed("0 0"))
        let count = Observed(0)
        let group = Group(fleet.property(\.car.mileage), name)
        let tokens = [
            fleet.property(\.car.mileage).bind(to: mileage), name.readOnly.bind(to: shown),
            group.bind(to: both) { "\($0.0) \($0.1)" },
            name.removingDuplicates().bind(to: count) { Int($0)! },
        ]
        let log = Log<String>()
        let witness = both.observe { log.append($0.new) }
        let versions = [mileage.version, shown.version, count.version]
        for number in 1...3 {
            group.commit { transaction in
                transaction[car.mileage] = number
                transaction[name] = "\(number)"
            }
        }
        #expect(log.entries == ["1 1", "2 2", "3 3"])
        #expect([mileage.version, shown.version, count.version] == versions.map { $0 + 3 })
        #expect((mileage.value, shown.value, count.value) == (3, "3", 3))
        withExtendedLifetime((tokens, witness)) {}
    }

    @Test("P3 P21 A ring of bindings: a commit goes round once")
    func ring() {
        let (first, second) = (Couple(), Couple())
        let tokens = [
            first.number.bind(to: second.number) { $0 + 1 }, first.name.bind(to: second.name) { $0 + "a" },
            second.number.bind(to: first.number) { $0 + 1 }, second.name.bind(to: first.name) { $0 + "b" },
        ]
        let versions = [first.number.version, second.number.version]
        first.commit(10)
        #expect(first.values == (12, "10ab") && second.values == (11, "10a"))
        #expect([first.number.version - versions[0], second.number.version - versions[1]] == [2, 1])
        withExtendedLifetime(tokens) {}
    }

    @Test("P3 P21 A ring through a group: it ends, and all agree")
    func ringThroughGroup() {
        let (pair, sum, calls) = (Couple(), Observed(0), Counter())
        let tokens = [
            Group(pair.number, pair.name).bind(to: sum) { values in
                calls.increment()
                return min(values.0, 100)
            },
            sum.bind(to: pair.number), sum.bind(to: pair.name) { "\($0)" },
        ]
        let before = calls.value
        pair.commit(7)
        #expect(pair.values == (7, "7") && sum.value == 7 && calls.value < before + 8)
        withExtendedLifetime(tokens) {}
    }

    @Test("P3 P21 Two members bound to one property: it changes twice, as by two sets")
    func oneDestination() {
        let (first, second, destination) = (Observed(0), Observed(0), Observed(0))
        let tokens = [first.bind(to: destination), second.bind(to: destination) { $0 + 10 }]
        let log = Log<Int>()
        let witness = destination.observe { log.append($0.new) }
        Group(first, second).commit { transaction in
            transaction[first] = 1
            transaction[second] = 1
        }
        // The order of the members is not defined.
        #expect(log.entries == [1, 11] || log.entries == [11, 1])
        withExtendedLifetime((tokens, witness)) {}
    }
}

// MARK: - Both ends of a binding

extension Promises.BindingCommitTests {
    @Test("P3 P21 A commit of all properties of a ring of bindings: they are alike afterwards", arguments: 2...5)
    func ringThatIsSet(count: Int) {
        // Several times: the addresses' order differs.
        for round in 1...6 {
            let ring = (0..<count).map { Observed($0) }.shuffled()
            let tokens = ring.indices.map { ring[$0].bind(to: ring[($0 + 1) % count]) }
            PropertyList(ring).commit { transaction in
                for (index, property) in ring.enumerated() { transaction[property] = 10 * round + index }
            }
            let values = Set(ring.map(\.value))
            #expect(values.count == 1 && values.isSubset(of: (0..<count).map { 10 * round + $0 }))
            withExtendedLifetime(tokens) {}
        }
    }

    @Test("P3 P21 A commit of a chain's first and second property: the third follows what the second ends at")
    func chainThatIsSet() {
        for _ in 1...6 {
            let chain = [Observed(0), Observed(0), Observed(0)].shuffled()
            let tokens = [chain[0].bind(to: chain[1]) { $0 + 1 }, chain[1].bind(to: chain[2]) { $0 + 1 }]
            let received = Log<Int>()
            let witness = chain[2].observe { received.append($0.new) }
            Group(chain[0], chain[1]).commit { transaction in
                transaction[chain[0]] = 10
                transaction[chain[1]] = 20
            }
            // The order of the members is not defined.
            #expect(chain.map(\.value) == [10, 11, 12])
            #expect(received.entries == [21, 12] || received.entries == [12])
            withExtendedLifetime((tokens, witness)) {}
        }
    }

    @Test("P3 P21 A commit of both sides of a pair: one of the two prevails on both")
    func pairThatIsSet() {
        for _ in 1...8 {
            let sides = [Observed(0), Observed(1)].shuffled()
            let token = sides[0].bindBidirectionally(with: sides[1])
            Group(sides[0], sides[1]).commit { transaction in
                transaction[sides[0]] = 7
                transaction[sides[1]] = 8
            }
            #expect(sides[0].value == sides[1].value && [7, 8].contains(sides[0].value))
            withExtendedLifetime(token) {}
        }
    }

    @Test("P3 P21 A property that corrects itself: what follows it has the corrected value")
    func correction() {
        for _ in 1...6 {
            let (number, other, shown, second) = (Observed(0), Observed(0), Observed(0), Observed(0))
            let tokens = [
                number.bind(to: number) { min($0, 10) }, number.bind(to: shown), other.bind(to: second),
            ]
            Group(number, other).commit { transaction in
                transaction[number] = 50
                transaction[other] = 50
            }
            #expect((number.value, shown.value, second.value) == (10, 10, 50))
            withExtendedLifetime(tokens) {}
        }
    }
}

// MARK: - User code

extension Promises.BindingCommitTests {
    @Test("P5 P7 P21 A transform may block, commit and set: no lock is held meanwhile")
    func transforms() throws {
        let (source, destination, other) = (Couple(), Couple(), Couple())
        let (isInside, mayGoOn) = (Signal("a transform runs"), Signal("it may go on"))
        let tokens = [
            source.number.bind(to: destination.number),
            source.name.bind(to: destination.name) { name in
                guard name == "1" else { return name }
                other.commit(5)
                other.name.value = "set"
                isInside.happen()
                mayGoOn.hold()
                return name
            },
            other.number.bind(to: other.mirror),
        ]
        let thread = TestThread { source.commit(1) }
        try isInside.wait()
        // Everything can be used; the name has not arrived.
        #expect(destination.name.value == "0" && source.values == (1, "1"))
        destination.commit(3)
        source.commit(2)
        #expect(destination.values == (2, "2") && other.mirror.value == 5)
        mayGoOn.happen()
        try thread.join()
        // It was overtaken.
        #expect(destination.values == (2, "2"))
        withExtendedLifetime(tokens) {}
    }

    @Test("P9 P21 A binding that ends while another one makes its value changes nothing", arguments: [false, true])
    func cancelled(isTwoWay: Bool) {
        let (source, destination) = (Couple(), Couple())
        let token = Slot<ObservationToken>()
        let outcomes = Log<WaitOutcome>()
        let other = source.name.bind(to: destination.name) { name in
            if let token = token.value { outcomes.append(token.cancelAndWaitBlocking()) }
            return name
        }
        token.put(
            isTwoWay
                ? source.number.bindBidirectionally(with: destination.number)
                : source.number.bind(to: destination.number)
        )
        let before = destination.number.version
        source.commit(1)
        #expect(source.values == (1, "1") && destination.name.value == "1" && !outcomes.entries.isEmpty)
        // The order of the members is not defined.
        #expect(destination.number.value == 0 || destination.number.version == before + 1)
        let version = destination.number.version
        source.commit(2)
        #expect(destination.number.version == version && destination.name.value == "2")
        withExtendedLifetime(other) {}
    }

    @Test("P11 P12 P14 Sides and transforms that go while a commit is passed on are destroyed once, under no lock")
    func lifetimes() throws {
        let lives = Lives()
        do {
            let source = Couple()
            let destination = Slot(Couple())
            let kept = lives.make()
            let tokens = [
                source.number.bind(to: destination.value!.number) { number in
                    withExtendedLifetime(kept) { number }
                },
                source.name.bind(to: destination.value!.name) { name in
                    if name == "2" { destination.clear() }
                    return name
                },
            ]
            source.commit(1)
            #expect(destination.value!.values == (1, "1"))
            source.commit(2)
            source.commit(3)
            #expect(tokens.allSatisfy { !$0.isActive })
        }
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P3 P21 Beside commits of several threads: at rest everything that is bound follows")
    func races() throws {
        let (source, near, far) = (Couple(), Couple(), Couple())
        let next = Counter()
        let tokens = [
            source.name.bind(to: near.name) { $0 }, source.number.bind(to: near.number),
            near.number.bindBidirectionally(with: far.number), far.name.bindBidirectionally(with: near.name),
        ]
        let writers = Hammer(threads: 2) { source.commit(next.increment()) }
        try writers.waitUntilWarm()
        try writers.stop()
        #expect(near.values == source.values && far.values == source.values)
        withExtendedLifetime(tokens) {}
    }
}

/// Two properties that are committed together.
private final class Couple: Sendable {
    let number = Observed(0)
    let name = Observed("0")
    let mirror = Observed(0)
    var group: Group<(Int, String)> { Group(number, name) }
    var values: (Int, String) { group.value }

    func commit(_ value: Int) {
        group.commit { transaction in
            transaction[name] = "\(value)"
            transaction[number] = value
        }
    }

    /// Binds both properties to those of `source`.
    func bind(to source: Couple) -> [ObservationToken] {
        [source.number.bind(to: number), source.name.bind(to: name)]
    }

    func observe(_ body: @escaping @Sendable ((Int, String)) -> Void) -> ObservationToken {
        group.observe { body($0.new) }
    }
}
