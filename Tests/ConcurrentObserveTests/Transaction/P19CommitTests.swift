// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P19 Commits")
    struct P19CommitTests {}
}

private struct Refusal: Error, Equatable {}

// MARK: - What a commit changes

extension Promises.P19CommitTests {
    @Test("P19 Each member that the body sets changes once; the others do not change")
    func changes() {
        let (from, to, other) = (Observed(100), Observed(0), Observed("other"))
        let moved = Group(from, to, other).commit { transaction in
            transaction[from] -= 5
            transaction[from] -= 5
            transaction[to] += 10
            return transaction[from]
        }
        #expect(moved == 90)
        #expect(from.snapshot() == (90, 1) && to.snapshot() == (10, 1) && other.snapshot() == ("other", 0))
    }

    @Test("P19 Inside the body drafts are read back, and everything else is as before")
    func drafts() {
        let (first, second) = (Observed("a long string, which is on the heap"), Observed([1, 2]))
        let group = Group(first, second)
        group.commit { transaction in
            transaction[first] = "b"
            transaction[second].append(3)
            #expect(transaction[first] == "b" && transaction[second] == [1, 2, 3])
            #expect(transaction[first.readOnly] == "b")
            #expect(first.value == "a long string, which is on the heap" && second.version == 0)
            #expect(group.value == ("a long string, which is on the heap", [1, 2]))
        }
        #expect(group.value == ("b", [1, 2, 3]))
    }

    @Test("P19 A body that throws publishes nothing, and the caller gets its error")
    func throwing() throws {
        let lives = Lives()
        let (first, second) = (Observed(lives.make()), Observed(0))
        let received = Counter()
        let tokens = [first.observe { _ in received.increment() }, second.observe { _ in received.increment() }]
        #expect(throws: Refusal.self) {
            try Group(first, second).commit { transaction throws(Refusal) in
                transaction[first] = lives.make()
                transaction[second] = 1
                throw Refusal()
            }
        }
        #expect(first.version == 0 && second.snapshot() == (0, 0) && received.value == 0)
        #expect(lives.alive == 1)
        first.value = lives.make()
        second.modify { $0 += 1 }
        #expect(received.value == 2)
        withExtendedLifetime(tokens) {}
    }

    @Test("P19 Values of every kind: bits, strings, objects, boxes; replaced values are destroyed once")
    func kinds() throws {
        let lives = Lives()
        do {
            let (bits, text, object) = (Observed(1), Observed("one"), Observed(lives.make()))
            let (box, none) = (Observed((lives.make(), "boxed")), Observed<Life?>(nil))
            let group = Group(bits, text, object, box, none)
            for round in 2...20 {
                group.commit { transaction in
                    transaction[bits] = round
                    transaction[text] = "a string that is too long to be kept in its own bits \(round)"
                    transaction[object] = lives.make()
                    transaction[object] = lives.make()
                    transaction[box] = (lives.make(), "boxed \(round)")
                    transaction[none] = round % 2 == 0 ? lives.make() : nil
                }
                let value = group.value
                #expect(value.0 == round && value.1.hasSuffix(" \(round)") && value.3.1 == "boxed \(round)")
            }
            #expect(bits.version == 19 && box.version == 19)
        }
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P19 Lists, groups in groups, views and repeated members")
    func members() {
        let properties = (0..<16).map { Observed($0) }
        let list = PropertyList(properties)
        list.commit { transaction in for property in properties { transaction[property] += 1 } }
        #expect(list.value == Array(1...16))
        let (first, second) = (properties[0], properties[1])
        let nested = Group(Group(first, second), list, first.readOnly, second.removingDuplicates(), first)
        nested.commit { transaction in
            transaction[first] = 100
            transaction[properties[15]] = 200
        }
        #expect(first.snapshot() == (100, 2) && properties[15].snapshot() == (200, 2) && second.version == 1)
    }
}

// MARK: - Observers

extension Promises.P19CommitTests {
    @Test("P1 P2 P19 Observers of one member receive one change, with its version; all members have changed by then")
    func observers() {
        let (first, second) = (Observed(0), Observed("a"))
        let group = Group(first, second)
        let log = Log<String>()
        let tokens = [
            first.observe { log.append("\($0.old!) \($0.new) \($0.version) \(second.value)") },
            second.observe(delivery: .serial()) { log.append("\($0.old!) \($0.new) \($0.version) \(first.value)") },
            first.observe(options: .prior) { if $0.reason == .prior { log.append("prior") } },
        ]
        group.commit { transaction in
            transaction[first] = 1
            transaction[first] = 2
            transaction[second] = "b"
        }
        #expect(Set(log.entries) == ["0 2 1 b", "a b 1 2"] && log.count == 2)
        group.commit { transaction in transaction[second] = "c" }
        #expect(log.entries.last == "b c 2 2" && log.count == 3)
        withExtendedLifetime(tokens) {}
    }

    @Test("P6 P19 A callback of a commit may commit again, on the same members")
    func reentrancy() {
        let (first, second) = (Observed(0), Observed(0))
        let group = Group(first, second)
        let token = first.observe { change in
            guard change.new < 5 else { return }
            group.commit { transaction in
                transaction[first] += 1
                transaction[second] += 1
            }
        }
        first.value = 1
        #expect(first.value == 5 && second.value == 4)
        token.cancel()
    }
}

// MARK: - Threads

extension Promises.P19CommitTests {
    @Test("P19 A thread that has seen one change of a commit sees all")
    func oneSeenAllSeen() throws {
        let (first, second) = (Observed(0), Observed("0"))
        let group = Group(second, first)
        let mistakes = Counter()
        let writers = Hammer(threads: 2) {
            group.commit { transaction in
                transaction[first] += 1
                transaction[second] = "a string of its own memory: \(transaction[first])"
            }
        }
        try writers.waitUntilWarm()
        try onThreads(2) { _ in
            for _ in 0..<20_000 {
                let seen = first.value
                let later = Int(second.value.split(separator: " ").last!)!
                if later < seen { mistakes.increment() }
                if first.value < later { mistakes.increment() }
                if first.version < UInt64(later) { mistakes.increment() }
            }
        }
        try writers.stop()
        #expect(mistakes.value == 0)
        #expect(first.version == second.version && first.value == Int(first.version))
    }

    @Test("P19 Commits of groups in any order, modify, sets and registrations never deadlock, and lose no change")
    func noDeadlock() throws {
        let properties = (0..<4).map { _ in Observed(0) }
        let commits = Counter()
        try onThreads(4) { index in
            let order = (0..<4).map { properties[($0 * (index % 2 == 0 ? 1 : 3) + index) % 4] }
            let group = PropertyList(order)
            for step in 0..<2_000 {
                group.commit { transaction in for property in order { transaction[property] += 1 } }
                commits.increment()
                order[0].modify { $0 += 1 }
                if step % 16 == 0 {
                    let seen = Counter()
                    let token = Group(order[3], order[1]).observe(options: .initial) { _ in seen.increment() }
                    token.cancel()
                    if seen.value == 0 { Issue.record("no initial delivery") }
                }
            }
        }
        #expect(properties.reduce(0) { $0 + $1.value } == commits.value * 4 + 8_000)
        for property in properties { #expect(property.version == UInt64(property.value)) }
    }

    @Test("P5 P19 While a body runs, readers, snapshots and registrations go on; other writers wait")
    func besideABody() throws {
        let (first, second, third) = (Observed(0), Observed(0), Observed(0))
        let group = Group(first, second)
        let written = Signal("the other writer's set")
        let writer = Slot<TestThread>()
        let received = Counter()
        group.commit { transaction in
            transaction[first] = 1
            transaction[second] = 1
            let isDone = anotherThreadFinishes {
                if group.value == (0, 0) { received.increment() }
                Group(second, third).observe(options: .initial) { _ in received.increment() }.cancel()
                first.observe { _ in }.cancel()
                third.value = 1
            }
            #expect(isDone)
            writer.put(
                TestThread {
                    second.value = 2
                    written.happen()
                }
            )
            #expect(!written.happens(within: .milliseconds(5)))
        }
        try written.wait()
        try writer.take()?.join()
        #expect(received.value == 2 && first.snapshot() == (1, 1) && second.snapshot() == (2, 2))
    }
}

// MARK: - Misuse

/// An operation that is forbidden inside the body of a commit.
enum CommitMisuse: String, CaseIterable, Codable, Sendable {
    case setAnother, modifyAnother, exchangeAnother, setMember, modifyMember, commitAgain, commitMember, outsider
    case observeMember, derived, setInModify, commitInModify, setHeld
    case pathHeld, pathLink, pathElsewhere, pathNil, pathReadOnly

    func commit() {
        let (member, partner, other) = (Observed(0), Observed(0), Observed(0))
        let group = Group(member, partner)
        switch self {
        case .setAnother: group.commit { _ in other.value = 1 }
        case .modifyAnother: group.commit { _ in other.modify { $0 += 1 } }
        case .exchangeAnother: group.commit { _ in _ = other.exchange(1) }
        case .setMember: group.commit { _ in member.value = 1 }
        case .modifyMember: group.commit { _ in member.modify { $0 += 1 } }
        case .commitAgain: group.commit { _ in Group(other, partner).commit { _ in } }
        case .commitMember: group.commit { _ in group.commit { _ in } }
        case .outsider: group.commit { transaction in transaction[other] = 1 }
        case .observeMember: group.commit { _ in _ = Group(other, partner).observe { _ in } }
        case .derived: Group(member, other.map { $0 + 1 }).commit { _ in }
        case .setHeld: group.commit(reading: other) { transaction in transaction[other] = 1 }
        case .pathHeld, .pathLink, .pathElsewhere, .pathNil, .pathReadOnly: commitPath()
        case .setInModify: member.modify { _ in other.value = 1 }
        case .commitInModify: member.modify { _ in Group(other, partner).commit { _ in } }
        }
    }

    /// The misuses of paths.
    private func commitPath() {
        let (car, other, shown) = (Car(Axle(1), second: Axle(2)), Axle(3), Shown())
        let pressure = car.property(\.axle.wheel.pressure)
        let second = car.property(\.second.wheel.pressure)
        let number = Showing(shown).property(\.shown.number)
        switch self {
        case .pathHeld:
            Group(car.name, car.mileage).commit(reading: pressure) { transaction in transaction[pressure] += 1 }
        case .pathLink: Group(pressure, car.name).commit { transaction in transaction[car.axle] = other }
        case .pathElsewhere:
            Group(pressure, car.axle).commit { transaction in
                transaction[car.axle] = other
                transaction[pressure] = 1
            }
        case .pathNil: Group(second, car.name).commit { transaction in transaction[second] = nil }
        case .pathReadOnly: Group(number, car.name).commit { transaction in transaction[number] = 1 }
        default: break
        }
    }

    var message: String {
        switch self {
        case .setAnother, .modifyAnother, .exchangeAnother, .setInModify:
            "a property was changed inside the body of a modify or a commit that does not include it. Change it before or after"
        case .setMember: "a property was set inside the body of its own modify or commit."
        case .modifyMember: "modify or commit was called inside the body of a modify or a commit of the same property."
        case .commitAgain, .commitMember, .commitInModify: "commit was called inside the body of a modify or a commit."
        case .outsider: "the body of a commit used the draft of a property that is no member of the group."
        case .observeMember: "a property was observed inside the body of its own modify or commit."
        case .derived: "commit was called with a derived value or a property type of yours."
        case .pathElsewhere: "the body of a commit used the draft of a property that is no member of the group."
        case .pathNil: "the body of a commit set a path to nil whose last property cannot be nil."
        case .pathReadOnly: "the body of a commit set a path whose last property is shown read-only."
        case .setHeld, .pathHeld, .pathLink: "the body of a commit set a property that the commit only reads."
        }
    }
}

extension Promises.P19CommitTests {
    @Test("P19 A forbidden operation in a body traps and says why", arguments: CommitMisuse.allCases)
    func misuse(misuse: CommitMisuse) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [misuse] in
            Process.limitLife(seconds: 20)
            misuse.commit()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("ConcurrentObserve: " + misuse.message), "\(text.prefix(1_000))")
    }

    @Test("P8 P19 A body may end and begin observations; the death of a referent in it is announced afterwards")
    func allowed() {
        let (first, second, other) = (Observed(0), Observed(0), Observed(0))
        let weak = WeakObserved<Referent>()
        let referent = Slot<Referent>()
        do {
            let object = Referent("a referent")
            weak.value = object
            referent.put(object)
        }
        let (received, nils) = (Counter(), Counter())
        let token = other.observe { _ in received.increment() }
        let death = weak.observe { change in if change.new == nil { nils.increment() } }
        Group(first, second).commit { transaction in
            token.cancel()
            let another = other.observe(options: .initial) { _ in received.increment() }
            another.cancel()
            referent.clear()
            #expect(weak.value == nil && weak.version == 1)
            transaction[first] = other.value + 1
        }
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(20)) == .finished)
        #expect(weak.version == 2)
        #expect(first.value == 1 && received.value == 1 && nils.value >= 1)
        death.cancel()
    }
}

private final class Shown: ConcurrentObservable {
    private let own = Observed(0)
    var number: ReadOnly<Int> { own.readOnly }
}

private final class Showing: ConcurrentObservable {
    let shown: Observed<Shown>
    init(_ shown: Shown) { self.shown = Observed(shown) }
}
