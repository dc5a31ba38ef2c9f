// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P12 The death of a property")
    struct P12PropertyDeathTests {}
}

// MARK: - What is heard

extension Promises.P12PropertyDeathTests {
    @Test("P12 Each live observer hears sourceDeleted once, last, whatever its options; old is the last value")
    func once() throws {
        let property = Slot(Observed("a"))
        let ends = Log<ObservationEnd>()
        let options: [ObservationOptions] = [[], .initial, .new, .old, .prior, [.initial, .new, .old, .prior]]
        let told = options.map { _ in Told<String>() }
        let tokens = zip(told, options).map { property.value!.observe($0, options: $1) }
        for token in tokens { token.onEnd { ends.append($0) } }
        property.value!.value = "b"
        let before = told.map(\.count)
        #expect(tokens.allSatisfy { $0.isActive })
        property.clear()
        #expect(tokens.allSatisfy { !$0.isActive })
        try Process.settle()
        for (index, told) in told.enumerated() {
            #expect(told.count == before[index] + 1)
            let old = options[index].contains(.old) ? "b" : "-"
            #expect(told.lines.last == "sourceDeleted \(old) → - @1")
        }
        #expect(ends.entries == Array(repeating: .sourceDeleted, count: options.count))
    }

    @Test("P12 It is heard of a property that was never set, with each kind of value", arguments: numberedTypes.indices)
    func neverSet(index: Int) { die(numberedTypes[index]) }

    private func die<Value: Numbered>(_ type: Value.Type) {
        let property = Slot(Observed(Value(number: 7)))
        let told = Told<Value>()
        let token = property.value!.observe(told)
        property.clear()
        #expect(told.count == 1)
        #expect(told.changes[0].reason == .sourceDeleted)
        #expect(told.changes[0].old == Value(number: 7))
        #expect(told.changes[0].version == 0)
        #expect(!told.changes[0].isPrior)
        withExtendedLifetime(token) {}
    }

    @Test("P12 It is heard on the thread that drops the last reference, in the order of registration")
    func thread() throws {
        let property = Slot(Observed(0))
        let heard = Log<String>()
        let dropping = Log<Int>()
        let tokens = (0..<20).map { index in
            property.value!.observe { change in heard.append("\(index) \(change.reason) \(threadNumber())") }
        }
        try onNewThread {
            dropping.append(threadNumber())
            property.clear()
        }
        #expect(heard.entries == (0..<20).map { "\($0) sourceDeleted \(dropping.entries[0])" })
        withExtendedLifetime(tokens) {}
    }

    @Test("P12 Cancelled before, in every way: silence, and onEnd hears cancelled")
    func cancelledBefore() throws {
        let property = Slot(Observed(0))
        let told = Told<Int>()
        let ends = Log<ObservationEnd>()
        let tokens = (0..<3).map { _ in Slot(property.value!.observe(told)) }
        for token in tokens { token.value!.onEnd { ends.append($0) } }
        tokens[0].value!.cancel()
        tokens[1].clear()
        tokens[2].value!.cancelAndWaitBlocking()
        property.clear()
        try eventually("the ends") { ends.count >= 3 }
        try Process.settle()
        #expect(told.count == 0)
        #expect(ends.entries == [.cancelled, .cancelled, .cancelled])
    }

    @Test("P12 An observer that an earlier one's sourceDeleted callback cancels hears nothing, and ends as cancelled")
    func cancelledByAnEarlierOne() throws {
        let property = Slot(Observed(0))
        let told = Told<Int>()
        let ends = Log<ObservationEnd>()
        let victims = Slot<[ObservationToken]>()
        let first = property.value!.observe { change in
            victims.value![0].cancel()
            _ = victims.value![1].cancelAndWaitBlocking()
            victims.put([victims.value![0], victims.value![1]])
        }
        victims.put((0..<3).map { _ in property.value!.observe(told) })
        for victim in victims.value! { victim.onEnd { ends.append($0) } }
        let last = property.value!.observe(told)
        property.clear()
        try eventually("the ends") { ends.count >= 3 }
        try Process.settle()
        #expect(told.lines == ["sourceDeleted 0 → - @0"])
        #expect(ends.entries == [.cancelled, .cancelled, .cancelled])
        withExtendedLifetime((first, last)) {}
        victims.clear()
    }

    @Test("P12 An observer that ends itself there has heard it once, as the last")
    func endsItselfThere() {
        let property = Slot(Observed(0))
        let told = Told<Int>()
        let token = property.value!.observe { change, observation in
            told.append(change)
            observation.cancel()
        }
        property.clear()
        #expect(told.lines == ["sourceDeleted 0 → - @0"])
        #expect(!token.isActive)
    }
}

// MARK: - Afterwards

extension Promises.P12PropertyDeathTests {
    @Test("P12 onEnd comes after the callback has returned, once")
    func onEndComesAfter() throws {
        let property = Slot(Observed(0))
        let order = Log<String>()
        let (entered, exit, ended) = (Signal("the callback"), Signal("the callback's release"), Signal("the end"))
        let token = property.value!.observe { change in
            entered.happen()
            exit.hold()
            order.append("\(change.reason)")
        }
        token.onEnd {
            order.append("end: \($0)")
            ended.happen()
        }
        let dropping = TestThread { property.clear() }
        try entered.wait()
        #expect(!token.isActive)
        #expect(!ended.happens(within: glance))
        exit.happen()
        try ended.wait()
        try dropping.join()
        try Process.settle()
        #expect(order.entries == ["sourceDeleted", "end: sourceDeleted"])
    }

    @Test("P12 A token outlives its property: ending it then does nothing")
    func tokenOutlives() throws {
        let property = Slot(Observed(0))
        let told = Told<Int>()
        let ends = Log<ObservationEnd>()
        let token = Slot(property.value!.observe(told))
        token.value!.onEnd { ends.append($0) }
        property.clear()
        token.value!.cancel()
        try onNewThread { token.value!.cancelAndWaitBlocking() }
        token.clear()
        try Process.settle()
        #expect(told.count == 1)
        #expect(ends.entries == [.sourceDeleted])
    }

    @Test("P12 P14 The closures and the value die promptly with the property, without further traffic")
    func everythingDies() throws {
        try expectPromptly(
            {
                let lives = Lives()
                let property = Observed<Life?>(lives.make())
                property.value = lives.make()
                let life = lives.make()
                let token = property.observe { (_: Change<Life?>) in life.touch() }
                return (lives, token)
            },
            end: { _ in }
        )
        try Process.settle()
    }

    @Test("P12 Cancelled at the moment of the death: what is heard and what onEnd says agree", arguments: 0..<2)
    func race(waiting: Int) throws {
        for _ in 0..<300 {
            let property = Slot(Observed(0))
            let told = Told<Int>()
            let ends = Log<ObservationEnd>()
            let lives = Lives()
            let life = Slot(lives.make())
            let token = property.value!.observe { [life = life.take()] change in
                life?.touch()
                told.append(change)
            }
            token.onEnd { ends.append($0) }
            try onThreads(2) { thread in
                if thread == 0 { return property.clear() }
                if waiting == 0 { token.cancel() } else { token.cancelAndWaitBlocking() }
                if waiting == 1, lives.alive > 0 { ends.append(.ownerDeleted) }
            }
            try lives.waitUntilNoneIsLeft()
            try eventually("the end") { ends.count > 0 }
            #expect(ends.entries == [told.count == 1 ? .sourceDeleted : .cancelled])
        }
        try Process.settle()
    }

    @Test("P12 A property that dies on one thread while others have just changed it: the end is the last, for each")
    func lastOfMany() throws {
        for _ in 0..<100 {
            let property = Slot(Observed(0))
            let told = (0..<3).map { _ in Told<Int>() }
            let tokens = told.map { property.value!.observe($0) }
            // Whichever thread lets go last.
            let references = (0..<3).map { _ in Slot(property.value!) }
            property.clear()
            try onThreads(3) { thread in
                for round in 0..<20 { references[thread].value?.value = round }
                references[thread].clear()
            }
            for told in told {
                #expect(told.versions == Array(1...60))
                #expect(told.changes.filter { $0.reason == .sourceDeleted }.count == 1)
                #expect(told.changes.last?.reason == .sourceDeleted)
                #expect(told.changes.last?.version == 60)
            }
            withExtendedLifetime(tokens) {}
        }
    }
}
