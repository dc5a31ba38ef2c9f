// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveTesting
import Dispatch
import Synchronization
import Testing

extension Promises {
    @Suite("Groups of properties")
    struct GroupTests {}
}

/// The changes of a group in one line each.
private func line(_ change: Change<(Int, String)>) -> String {
    "\(change.reason) \(change.old.map { "\($0)" } ?? "-") → \(change.new) @\(change.version)"
}

// MARK: - Values

extension Promises.GroupTests {
    @Test("P2 A group has its properties' values, in order, and a version that grows with each change of one")
    func values() {
        let car = Car(Axle(1), second: nil)
        let group = Group(car.name, car.property(\.axle.wheel.pressure), car.property(\.second.wheel.pressure))
        #expect(group.value == ("Beetle", 1, nil))
        var version = group.version
        let changes: [() -> Void] = [
            { car.name.value = "Golf" }, { car.setPressure(2) }, { car.second.value = Axle(3) },
            { car.second.value = nil },
        ]
        for change in changes {
            change()
            #expect(group.version > version)
            version = group.version
        }
        #expect(group.snapshot().value == ("Golf", 2, nil))
        #expect(group.snapshot().version == group.version)
    }

    @Test("P2 As many properties as there are, of every kind, groups in groups")
    func kinds() {
        let (number, text, weak) = (Observed(1), Observed("a"), WeakObserved<Referent>())
        let large = Group(number, text.readOnly, text.removingDuplicates(), weak, Car(7).property(\.mileage), number)
        let received = Counter()
        let nested = Group(Group(number, text), number)
        let tokens = [
            large.observe { _ in received.increment() }, nested.observe { _ in received.increment() },
            Group(number).observe { _ in received.increment() },
        ]
        #expect(large.value.0 == 1 && large.value.2 == "a" && large.value.5 == 1)
        #expect(nested.value.0 == (1, "a") && nested.value.1 == 1)
        text.value = "b"
        #expect(received.value == 3)
        #expect(nested.value.0 == (1, "b"))
        withExtendedLifetime(tokens) {}
    }

    @Test("P20 A snapshot has values that were present together: what is always set first is never seen behind")
    func snapshots() throws {
        // Each writer sets its first before its second, and the seconds follow the firsts.
        let (first, second) = (Observed(Pair(number: 0)), Observed(Quad(number: 0)))
        let group = Group(second, first)
        let (mistakes, looks) = (Counter(), Counter())
        let step = Mutex(0)
        let writers = Hammer(threads: 2) {
            step.withLock { step in
                step += 1
                first.value = Pair(number: step)
                second.value = Quad(number: step)
            }
        }
        try writers.waitUntilWarm()
        try onThreads(2) { _ in
            var last: UInt64 = 0
            for _ in 0..<20_000 {
                let (value, version) = group.snapshot()
                let (behind, ahead) = (value.0.number, value.1.number)
                if behind > ahead || ahead > behind + 1 || version < last { mistakes.increment() }
                if version != UInt64(behind + ahead) { mistakes.increment() }
                last = version
                looks.increment()
            }
        }
        try writers.stop()
        #expect(mistakes.value == 0)
        #expect(looks.value == 40_000)
    }
}

// MARK: - Forms

extension Promises.GroupTests {
    @Test("P1 P2 Inline: each change of one, versions 1, 2, 3, …, old being new of the one before; initial at 0")
    func inline() {
        let (number, text) = (Observed(1), Observed("a"))
        let (plain, initial) = (Log<String>(), Log<String>())
        number.value = 2
        let group = Group(number, text)
        let tokens = [
            group.observe { plain.append(line($0)) }, group.observe(options: .initial) { initial.append(line($0)) },
        ]
        text.value = "b"
        number.modify { $0 += 1 }
        text.value = "b"
        let changes = [
            #"valueChanged (2, "a") → (2, "b") @1"#, #"valueChanged (2, "b") → (3, "b") @2"#,
            #"valueChanged (3, "b") → (3, "b") @3"#,
        ]
        #expect(plain.entries == changes)
        #expect(initial.entries == [#"initial - → (2, "a") @0"#] + changes)
        withExtendedLifetime(tokens) {}
    }

    @Test("P1 P7 In every form of delivery: all changes, in order, the initial value first", .leavesNothingBehind)
    func forms() async throws {
        let (number, text) = (Observed(0), Observed("a"))
        let group = Group(number, text)
        let (actor, listener) = (ObservationActor(), Listener())
        let queue = DispatchQueue(label: "a group", attributes: .concurrent)
        let owner = Lives().make()
        let logs = (0..<8).map { _ in Log<String>() }
        let handle = Slot<ObservationHandle>()
        var tokens = [
            group.observe(options: .initial, delivery: .serial()) { logs[0].append(line($0)) },
            group.observe(options: .initial, delivery: .queue(queue)) { logs[1].append(line($0)) },
            group.observe(options: .initial, delivery: .actor(actor)) { logs[2].append(line($0)) },
            group.observe(on: listener, options: .initial) { _, change in logs[3].append(line(change)) },
            group.observeIsolated(options: .initial) { @MainActor change in logs[4].append(line(change)) },
            group.observe(owner: owner, options: .initial) { _, change in logs[5].append(line(change)) },
            group.observe(options: .initial) { change, observation in
                handle.put(observation)
                logs[6].append(line(change))
            },
        ]
        tokens.append(
            group.observeValues(options: .initial, delivery: .serial()) { number, text in
                logs[7].append("\(number) \(text)")
            }
        )
        var changes = group.changes(options: .initial).makeAsyncIterator()
        var values = group.values(options: .initial).makeAsyncIterator()
        for round in 1...3 {
            number.value = round
            text.value = "\(round)"
        }
        let all = [
            #"initial - → (0, "a") @0"#, #"valueChanged (0, "a") → (1, "a") @1"#,
            #"valueChanged (1, "a") → (1, "1") @2"#, #"valueChanged (1, "1") → (2, "1") @3"#,
            #"valueChanged (2, "1") → (2, "2") @4"#, #"valueChanged (2, "2") → (3, "2") @5"#,
            #"valueChanged (3, "2") → (3, "3") @6"#,
        ]
        try await whenQuiet()
        for log in logs.prefix(7) { #expect(log.entries == all) }
        #expect(logs[7].entries == ["0 a", "1 a", "1 1", "2 1", "2 2", "3 2", "3 3"])
        for expected in all { #expect(await changes.next().map(line) == expected) }
        for expected in logs[7].entries {
            #expect(await values.next().map { "\($0.0) \($0.1)" } == expected)
        }
        #expect(handle.value?.isActive == true)
        withExtendedLifetime((tokens, owner)) {}
    }

    @Test(
        "P2 P3 Racing writers: versions without gaps, each beginning where the one before has ended, and the last value"
    )
    func writers() throws {
        for serial in [false, true] {
            let car = Car(0)
            let group = Group(car.mileage, car.property(\.axle.wheel.pressure))
            let received = Log<Change<(Int, Int)>>()
            let (inside, overlapping) = (Counter(), Counter())
            let token = Slot<ObservationToken>()
            try onThreads(3) { thread in
                switch thread {
                case 0:
                    let delivery: Delivery = serial ? .serial() : .inline
                    token.put(
                        group.observe(options: .initial, delivery: delivery) { change in
                            if inside.increment() > 1 { overlapping.increment() }
                            received.append(change)
                            inside.add(-1)
                        }
                    )
                case 1: for number in 1...1_000 { car.mileage.value = number }
                default:
                    for number in 1...1_000 {
                        if number % 10 == 0 { car.axle.value = Axle(number) } else { car.setPressure(number) }
                    }
                }
            }
            if serial { try token.value!.waitUntilIdle() }
            try Process.settle()
            #expect(waitsForTheEnd(of: token.value!))
            let changes = received.entries.sorted { $0.version < $1.version }
            #expect(changes.map(\.version) == Array(0..<UInt64(changes.count)))
            #expect(changes[0].reason == .initial && changes.dropFirst().allSatisfy { $0.reason == .valueChanged })
            #expect(zip(changes, changes.dropFirst()).allSatisfy { $0.new == $1.old! })
            // Neither ever goes back.
            #expect(zip(changes, changes.dropFirst()).allSatisfy { $0.new.0 <= $1.new.0 && $0.new.1 <= $1.new.1 })
            #expect(changes.last!.new == (1_000, 1_000))
            if serial {
                #expect(overlapping.value == 0)
                #expect(received.entries.map(\.version) == changes.map(\.version))
            }
        }
    }

    @Test("P3 What is made of several paths is right once the writers have returned: 10,000 rounds")
    func combination() throws {
        let (cars, meetings) = ((0..<100).map { _ in Car(0) }, 100)
        let sums = cars.map { _ in Observed(0) }
        let (wrong, line) = (Counter(), StartingLine(2))
        let idle = Log<Bool>()
        let tokens = zip(cars, sums).map { car, sum in
            Group(car.mileage, car.property(\.axle.wheel.pressure)).observe(delivery: .serial()) { change in
                let result = change.new.0 + change.new.1
                // Something between reading and storing, of any length.
                for _ in 0..<(result &* 7919 % 5) { briefWork() }
                sum.value = result
            }
        }
        try onThreads(2) { index in
            for meeting in 1...meetings {
                line.wait()
                for car in cars { if index == 0 { car.mileage.value = meeting } else { car.setPressure(meeting) } }
                line.wait()
                guard index == 0 else { continue }
                // A writer that found the other one at it has left its change there.
                for (token, sum) in zip(tokens, sums) {
                    do {
                        try eventually("the sum") { sum.value == meeting * 2 }
                        try token.waitUntilIdle()
                    } catch { idle.append(false) }
                    if sum.value != meeting * 2 { wrong.increment() }
                }
            }
        }
        #expect(wrong.value == 0)
        #expect(idle.count == 0)
    }

    @Test("P6 A change that the callback makes is delivered after it")
    func fromWithin() {
        let (number, other) = (Observed(0), Observed(0))
        let lines = Log<String>()
        let token = Group(number, other).observe(delivery: .serial()) { change in
            if change.new.1 == 0 { other.value = 2 }
            lines.append("\(change.new) @\(change.version)")
        }
        number.value = 1
        #expect(lines.entries == ["(1, 0) @1", "(1, 2) @2"])
        withExtendedLifetime(token) {}
    }
}

// MARK: - Lifetime

extension Promises.GroupTests {
    /// Which member goes.
    enum Member: String, CaseIterable, Sendable { case first, second }

    @Test(
        "P12 When one member's source is gone the observation ends, last, once; sequences finish",
        arguments: Member.allCases
    )
    func memberDies(member: Member) async throws {
        let (number, car) = (Slot(Observed(1)), Slot(Car(2)))
        let entries = Log<String>()
        let ended = Signal("the end")
        let group = Slot(Group(number.value!, car.value!.property(\.axle.wheel.pressure)))
        let token = group.value!.observe { change in entries.append("\(change.new)") }
        token.onEnd {
            entries.append("\($0)")
            ended.happen()
        }
        var values = group.value!.values().makeAsyncIterator()
        number.value!.value = 3
        group.clear()
        #expect(token.isActive)
        if member == .first { number.clear() } else { car.clear() }
        try await ended.arrival()
        #expect(!token.isActive)
        number.value?.value = 4
        car.value?.setPressure(5)
        #expect(entries.entries == ["(3, 2)", "sourceDeleted"])
        #expect(await values.next().map { "\($0)" } == "(3, 2)")
        #expect(await values.next() == nil)
    }

    @Test("P11 Neither observation nor sequence keeps the members; the group does")
    func retains() throws {
        let lives = Lives()
        let (number, car) = (Slot(Observed(1)), Slot(Car(Axle(1), life: lives.make())))
        let weak = Weak(number.value!)
        let group = Slot(Group(number.value!, car.value!.property(\.axle.wheel.pressure)))
        let captured = Slot(lives.make())
        let token = group.value!.observe { [life = captured.take()] _ in life?.touch() }
        let iterator = group.value!.values().makeAsyncIterator()
        number.clear()
        car.clear()
        #expect(weak.object != nil)
        #expect(lives.alive == 2)
        group.clear()
        #expect(weak.object == nil)
        // The closure as well.
        try lives.waitUntilNoneIsLeft()
        withExtendedLifetime((token, iterator)) {}
    }

    /// A way to end an observation from outside.
    enum Way: String, CaseIterable, Sendable { case cancel, cancelAndWait, drop, member }

    @Test(
        "P8 P9 P10 Ended, in each way, nothing is delivered, and no property has observers any more",
        arguments: Way.allCases
    )
    func ended(way: Way) throws {
        let car = Car(1)
        let (lives, calls, ends) = (Lives(), Counter(), Log<ObservationEnd>())
        let life = Slot(lives.make())
        let token = Slot(
            Group(car.name, car.property(\.axle.wheel.pressure)).observe { [life = life.take()] _ in
                life?.touch()
                calls.increment()
            }
        )
        token.value!.onEnd { ends.append($0) }
        #expect(car.name.observationCount == 1)
        car.name.value = "Golf"
        switch way {
        case .cancel: token.value!.cancel()
        case .cancelAndWait:
            token.value!.cancelAndWaitBlocking()
            #expect(lives.alive == 0)
        case .drop: token.clear()
        case .member:
            car.name.cancelAllObservations()
            try eventually("the end of the group's") { !token.value!.isActive }
        }
        car.name.value = "Polo"
        car.setPressure(2)
        car.axle.value = Axle(3)
        #expect(calls.value == 1)
        try lives.waitUntilNoneIsLeft()
        try eventually("the end of what observes the members") {
            car.name.observationCount == 0 && car.axle.observationCount == 0
        }
        try eventually("the end") { ends.count > 0 }
        #expect(ends.entries == [.cancelled])
    }

    @Test("P12 A group of a property that is gone already begins nothing: its sequence finishes at once")
    func goneAlready() async {
        let (number, other) = (Slot(Observed(1)), Observed(2))
        let values = Group(number.value!, other).values(options: .initial)
        number.clear()
        var iterator = values.makeAsyncIterator()
        #expect(await iterator.next() == nil)
        #expect(other.observationCount == 0)
    }

    @Test("P8 A member's observation that is cancelled before its first value ends the group's, in each form")
    func cancelledBeforeItsValue() async {
        let wheel = CancellingWheel()
        let hub = Hub(wheel)
        wheel.onLink.put { hub.wheel.cancelAllObservations() }
        let group = Group(hub.property(\.wheel.pressure), Observed(0))
        let ends = Log<ObservationEnd>()
        for delivery in [Delivery.inline, .serial(), .queue(DispatchQueue(label: "group"))] {
            let token = group.observe(options: .initial, delivery: delivery) { _ in }
            #expect(!token.isActive)
            ends.append(await withCheckedContinuation { ended in token.onEnd { ended.resume(returning: $0) } })
        }
        #expect(ends.entries == [.cancelled, .cancelled, .cancelled])
        var iterator = group.changes(options: .initial).makeAsyncIterator()
        #expect(await iterator.next() == nil)
        #expect(hub.wheel.observationCount == 0)
    }
}

/// Runs something whenever a path is linked to it.
private final class CancellingWheel: ConcurrentObservable {
    struct Properties: Sendable { let pressure = Observed(1) }
    private let properties = Properties()
    let onLink = Slot<@Sendable () -> Void>({})

    var observedProperties: Properties {
        onLink.value!()
        return properties
    }
}

private final class Hub: ConcurrentObservable {
    let wheel: Observed<CancellingWheel>
    init(_ wheel: CancellingWheel) { self.wheel = Observed(wheel) }
}

/// Some microseconds.
private func briefWork() { for _ in 0..<10 { _ = threadNumber() } }
