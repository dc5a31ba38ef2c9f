// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P12 The death of the source")
    struct P12SourceDeathTests {}
}

extension Promises.P12SourceDeathTests {
    @Test("P12 Each live observer receives sourceDeleted exactly once, and the callback nothing")
    func once() throws {
        let ends = Log<ObservationEnd>()
        let received = Counter()
        let lives = Lives()
        let source = Slot(ObserverRegistry<Int>())
        var tokens: [ObservationToken] = []
        for _ in 0..<100 {
            let life = lives.make()
            tokens.append(
                source.value!.observe { _ in
                    life.touch()
                    received.increment()
                }
            )
            tokens.last!.onEnd { ends.append($0) }
        }
        #expect(tokens.allSatisfy { $0.isActive })
        source.clear()
        #expect(tokens.allSatisfy { !$0.isActive })
        try lives.waitUntilNoneIsLeft()
        try Process.settle()
        #expect(ends.entries == Array(repeating: .sourceDeleted, count: 100))
        #expect(received.value == 0)
    }

    @Test("P12 Cancelled before, an observer receives cancelled alone")
    func cancelledBefore() throws {
        let ends = Log<ObservationEnd>()
        let source = Slot(ObserverRegistry<Int>())
        let token = source.value!.observe { _ in }
        token.onEnd { ends.append($0) }
        token.cancel()
        source.clear()
        try eventually("the end") { ends.count > 0 }
        try Process.settle()
        #expect(ends.entries == [.cancelled])
    }

    @Test("P12 Cancelled at the moment of the source's death, an observer receives one of the two, once")
    func race() throws {
        let ends = Log<ObservationEnd>()
        let lives = Lives()
        let rounds = 300
        for _ in 0..<rounds {
            let source = Slot(ObserverRegistry<Int>())
            let life = Slot(lives.make())
            let token = source.value!.observe { [life = life.take()] _ in life?.touch() }
            token.onEnd { ends.append($0) }
            try onThreads(2) { thread in if thread == 0 { source.clear() } else { token.cancel() } }
            #expect(!token.isActive)
        }
        try lives.waitUntilNoneIsLeft()
        try Process.settle()
        #expect(ends.count == rounds)
        #expect(ends.entries.allSatisfy { $0 == .sourceDeleted || $0 == .cancelled })
    }

    @Test("P12 A token outlives its source: ending it then does nothing")
    func tokenOutlivesSource() throws {
        let ends = Log<ObservationEnd>()
        let source = Slot(ObserverRegistry<Int>())
        let token = Slot(source.value!.observe { _ in })
        token.value!.onEnd { ends.append($0) }
        source.clear()
        token.value!.cancel()
        try onNewThread { token.value!.cancelAndWaitBlocking() }
        #expect(!token.value!.isActive)
        token.clear()
        try Process.settle()
        #expect(ends.entries == [.sourceDeleted])
    }

    @Test("P12 onEnd runs at once if the end is past, on the calling thread, with the reason")
    func afterTheEnd() throws {
        let ends = Log<ObservationEnd>()
        let threads = Log<Int>()
        let registry = ObserverRegistry<Int>()
        let token = registry.observe { _ in }
        token.cancelAndWaitBlocking()
        token.onEnd {
            ends.append($0)
            threads.append(threadNumber())
        }
        #expect(ends.entries == [.cancelled])
        #expect(threads.entries == [threadNumber()])

        let source = Slot(ObserverRegistry<Int>())
        let orphan = source.value!.observe { _ in }
        source.clear()
        try onNewThread { orphan.cancelAndWaitBlocking() }
        orphan.onEnd { ends.append($0) }
        #expect(ends.entries == [.cancelled, .sourceDeleted])
    }

    @Test("P12 P14 Bodies run in the order in which they are given, also if earlier ones still run")
    func orderOfBodies() throws {
        let registry = ObserverRegistry<Int>()
        let token = registry.observe { _ in }
        let (order, entered, release) = (Log<Int>(), Signal("the first body"), Signal("its release"))
        let done = Signal("the last body")
        token.onEnd { _ in
            entered.happen()
            release.hold()
            order.append(1)
        }
        token.onEnd { [unowned token] _ in
            token.onEnd { _ in order.append(4) }
            order.append(2)
        }
        token.cancel()
        try entered.wait()
        token.onEnd { _ in
            order.append(3)
            token.onEnd { _ in
                order.append(5)
                done.happen()
            }
        }
        #expect(order.entries.isEmpty)
        release.happen()
        try done.wait()
        // The last body may not have returned: then this one runs after it.
        let behind = Signal("the body behind the last")
        token.onEnd { _ in
            order.append(6)
            behind.happen()
        }
        try behind.wait()
        #expect(order.entries == [1, 2, 3, 4, 5, 6])
    }

    @Test("P12 P14 Bodies given by several threads around the end run one at a time, each once")
    func bodiesOfManyThreads() throws {
        for _ in 0..<200 {
            let token = ObserverRegistry<Int>().observe { _ in }
            let (running, order) = (Counter(), Log<Int>())
            try onThreads(3) { thread in
                if thread == 0 { token.cancel() }
                for number in 0..<4 {
                    token.onEnd { _ in
                        #expect(running.increment() == 1)
                        order.append(10 * thread + number)
                        running.add(-1)
                    }
                }
            }
            try eventually("all bodies") { order.count == 12 }
            for thread in 0..<3 {
                #expect(order.entries.filter { $0 / 10 == thread } == (0..<4).map { 10 * thread + $0 })
            }
        }
    }

    @Test("P12 onEnd comes after the last callback")
    func afterTheLastCallback() throws {
        let source = Slot(ObserverRegistry<Int>())
        let order = Log<String>()
        let entered = Signal("the callback")
        let release = Signal("the callback's release")
        let ended = Signal("the end")
        let token = source.value!.observe { _ in
            entered.happen()
            release.hold()
            order.append("callback")
        }
        token.onEnd { _ in
            order.append("end")
            ended.happen()
        }
        // The thread keeps the source alive by notifying; it is the observations that end.
        let notifier = TestThread { source.value?.notify(1) }
        try entered.wait()
        source.value?.cancelAllObservations()
        #expect(!ended.happens(within: glance))
        release.happen()
        try ended.wait()
        try notifier.join()
        #expect(order.entries == ["callback", "end"])
    }

    @Test("P12 Several bodies receive the end, in the order of their registration")
    func severalBodies() throws {
        let registry = ObserverRegistry<Int>()
        let order = Log<Int>()
        let token = registry.observe { _ in }
        for index in 0..<5 { token.onEnd { _ in order.append(index) } }
        token.cancelAndWaitBlocking()
        #expect(order.entries == [0, 1, 2, 3, 4])
    }

    @Test("P12 A body registered while the observation ends is called once")
    func onEndDuringTheEnd() throws {
        let registry = ObserverRegistry<Int>()
        let ends = Counter()
        let rounds = 500
        for _ in 0..<rounds {
            let token = registry.observe { _ in }
            try onThreads(2) { thread in
                if thread == 0 { token.cancelAndWaitBlocking() } else { token.onEnd { _ in ends.increment() } }
            }
        }
        try eventually("all ends") { ends.value >= rounds }
        try Process.settle()
        #expect(ends.value == rounds)
    }

    @Test("P12 What onEnd captures is destroyed once it has been called")
    func capturesOfOnEnd() throws {
        let lives = Lives()
        let registry = ObserverRegistry<Int>()
        let token = registry.observe { _ in }
        do {
            let life = lives.make()
            token.onEnd { _ in life.touch() }
        }
        #expect(lives.alive == 1)
        token.cancelAndWaitBlocking()
        #expect(lives.alive == 0)
    }
}
