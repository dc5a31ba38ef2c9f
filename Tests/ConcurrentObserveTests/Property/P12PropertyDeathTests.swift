// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P12 The death of a property")
    struct P12PropertyDeathTests {}
}

// MARK: - What is delivered

extension Promises.P12PropertyDeathTests {
    @Test("P12 Each live observation ends with sourceDeleted once, last, whatever its options, and calls nothing then")
    func once() throws {
        let property = Slot(Observed("a"))
        let options: [ObservationOptions] = [[], .initial, .prior, [.initial, .prior]]
        let received = options.map { _ in ReceivedChanges<String>() }
        let tokens = zip(received, options).map { property.value!.observe($0, options: $1).recordEnd(to: $0) }
        property.value!.value = "b"
        let before = received.map(\.lines)
        #expect(tokens.allSatisfy { $0.isActive })
        property.clear()
        #expect(tokens.allSatisfy { !$0.isActive })
        for received in received { try received.ended.wait() }
        try Process.settle()
        for (received, before) in zip(received, before) {
            #expect(before.last == "valueChanged a → b @1")
            #expect(received.lines == before + ["sourceDeleted"])
        }
    }

    @Test(
        "P12 The end is delivered for a property that was never set, too, with each kind of value",
        arguments: numberedTypes.indices
    )
    func neverSet(index: Int) throws { try die(numberedType(index)) }

    private func die<Value: Numbered>(_ type: Value.Type) throws {
        let property = Slot(Observed(Value(number: 7)))
        let received = ReceivedChanges<Value>()
        let token = property.value!.observe(received).recordEnd(to: received)
        property.clear()
        try received.ended.wait()
        #expect(received.lines == ["sourceDeleted"])
        withExtendedLifetime(token) {}
    }

    @Test(
        "P12 The end is delivered to each once, on a thread of the library, not on the one that drops the last reference"
    )
    func thread() throws {
        let property = Slot(Observed(0))
        let (received, threads) = (Log<Int>(), Log<Int>())
        let tokens = (0..<20).map { index in
            property.value!.observe { (_: Change<Int>) in }.onEnd { _ in
                threads.append(threadNumber())
                received.append(index)
            }
        }
        let dropping = Log<Int>()
        try onNewThread {
            dropping.append(threadNumber())
            property.clear()
            // Until all are delivered this thread must exist: otherwise its number could be given
            // to another.
            _ = try? eventually("all ends") { received.count >= 20 }
        }
        try Process.settle()
        #expect(received.entries.sorted() == Array(0..<20))
        #expect(!threads.entries.contains(dropping.entries[0]))
        withExtendedLifetime(tokens) {}
    }

    @Test("P12 Cancelled before, in every way: silence, and onEnd receives cancelled")
    func cancelledBefore() throws {
        let property = Slot(Observed(0))
        let received = ReceivedChanges<Int>()
        let ends = Log<ObservationEnd>()
        let tokens = (0..<3).map { _ in Slot(property.value!.observe(received)) }
        for token in tokens { token.value!.onEnd { ends.append($0) } }
        tokens[0].value!.cancel()
        tokens[1].clear()
        tokens[2].value!.cancelAndWaitBlocking()
        property.clear()
        try eventually("the ends") { ends.count >= 3 }
        try Process.settle()
        #expect(received.count == 0)
        #expect(ends.entries == [.cancelled, .cancelled, .cancelled])
    }

    @Test("P12 What cancels the others when it receives the end comes too late: all have ended with the property")
    func cancelledByAnEarlierOne() throws {
        let property = Slot(Observed(0))
        let received = ReceivedChanges<Int>()
        let others = Slot<[ObservationToken]>()
        let first = property.value!.observe { (_: Change<Int>) in }.onEnd { _ in
            others.value![0].cancel()
            _ = others.value![1].cancelAndWaitBlocking()
            others.put([others.value![0], others.value![1]])
        }
        others.put((0..<3).map { _ in property.value!.observe(received).recordEnd(to: received) })
        property.clear()
        try eventually("the ends") { received.ends.count >= 3 }
        try Process.settle()
        #expect(received.lines == ["sourceDeleted", "sourceDeleted", "sourceDeleted"])
        withExtendedLifetime(first) {}
        others.clear()
    }

    @Test("P12 An observation that is ended in its last callback, which drops the property too, ends as cancelled")
    func endsItselfThere() throws {
        let property = Slot(Observed(0))
        let received = ReceivedChanges<Int>()
        let token = property.value!.observe { change, observation in
            received.append(change)
            observation.cancel()
            property.clear()
        }
        token.recordEnd(to: received)
        property.value!.value = 1
        try received.ended.wait()
        try Process.settle()
        #expect(received.lines == ["valueChanged 0 → 1 @1", "cancelled"])
        #expect(!token.isActive)
    }
}

// MARK: - Afterwards

extension Promises.P12PropertyDeathTests {
    @Test("P12 onEnd comes after the last callback has returned, once")
    func onEndComesAfter() throws {
        let property = Slot(Observed(0))
        let order = Log<String>()
        let (entered, exit, ended) = (Signal("the callback"), Signal("the callback's release"), Signal("the end"))
        let token = property.value!.observe { change in
            // The change keeps its property no longer: it dies while its last callback runs, or
            // just after.
            property.clear()
            entered.happen()
            exit.hold()
            order.append("\(change.reason)")
        }
        token.onEnd {
            order.append("end: \($0)")
            ended.happen()
        }
        let changing = TestThread { property.take()?.value = 1 }
        try entered.wait()
        #expect(!ended.happens(within: glance))
        exit.happen()
        try ended.wait()
        try changing.join()
        try Process.settle()
        #expect(!token.isActive)
        #expect(order.entries == ["valueChanged", "end: sourceDeleted"])
    }

    @Test("P12 A token outlives its property: ending it then does nothing")
    func tokenOutlives() throws {
        let property = Slot(Observed(0))
        let received = ReceivedChanges<Int>()
        let token = Slot(property.value!.observe(received).recordEnd(to: received))
        property.clear()
        token.value!.cancel()
        try onNewThread { token.value!.cancelAndWaitBlocking() }
        token.clear()
        try received.ended.wait()
        try Process.settle()
        #expect(received.lines == ["sourceDeleted"])
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

    @Test("P12 Cancelled at the moment of the death: it ends once, in one of the two ways", arguments: 0..<2)
    func race(waiting: Int) throws {
        for _ in 0..<300 {
            let property = Slot(Observed(0))
            let received = ReceivedChanges<Int>()
            let ends = Log<ObservationEnd>()
            let lives = Lives()
            let life = Slot(lives.make())
            let token = property.value!.observe { [life = life.take()] change in
                life?.touch()
                received.append(change)
            }
            token.onEnd { end in
                if lives.alive > 0 { ends.append(.ownerDeleted) }
                ends.append(end)
            }
            try onThreads(2) { thread in
                if thread == 0 { return property.clear() }
                if waiting == 0 { token.cancel() } else { token.cancelAndWaitBlocking() }
                if waiting == 1, lives.alive > 0 { ends.append(.ownerDeleted) }
            }
            try lives.waitUntilNoneIsLeft()
            try eventually("the end") { ends.count > 0 }
            #expect([[.sourceDeleted], [.cancelled]].contains(ends.entries))
            #expect(received.count == 0)
        }
        try Process.settle()
    }

    @Test("P12 A property that dies on one thread while others have just changed it: the end is the last, for each")
    func lastOfMany() throws {
        for _ in 0..<100 {
            let property = Slot(Observed(0))
            let received = (0..<3).map { _ in ReceivedChanges<Int>() }
            let tokens = received.map { property.value!.observe($0).recordEnd(to: $0) }
            // Whichever thread lets go last.
            let references = (0..<3).map { _ in Slot(property.value!) }
            property.clear()
            try onThreads(3) { thread in
                for round in 0..<20 { references[thread].value?.value = round }
                references[thread].clear()
            }
            for received in received {
                try received.ended.wait()
                #expect(received.versions == Array(1...60))
                #expect(received.ends == [.sourceDeleted])
                #expect(received.lines.last == "sourceDeleted")
            }
            withExtendedLifetime(tokens) {}
        }
    }
}
