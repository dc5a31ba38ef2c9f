// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P4 Initial")
    struct P04InitialTests {}
}

// MARK: - One thread

extension Promises.P04InitialTests {
    @Test("P4 The initial value is delivered once, before observe returns, on the observing thread, without an old one")
    func once() throws {
        let property = Observed("a")
        property.value = "b"
        let received = ReceivedChanges<String>()
        let threads = Log<Int>()
        let observing = Log<Int>()
        let token = Slot<ObservationToken>()
        try onNewThread {
            observing.append(threadNumber())
            token.put(
                property.observe(options: .initial) { (change: Change<String>) in
                    threads.append(threadNumber())
                    received.append(change)
                }
            )
            observing.append(received.count)
        }
        #expect(received.lines == ["initial - → b @1"])
        #expect(observing.entries == [threads.entries[0], 1])
        property.value = "c"
        #expect(received.lines == ["initial - → b @1", "valueChanged b → c @2"])
        token.clear()
    }

    @Test("P4 Before the first change its version is 0")
    func versionZero() {
        let received = ReceivedChanges<Int?>()
        let property = Observed<Int?>(nil)
        let token = property.observe(received, options: .initial)
        #expect(received.lines == ["initial - → nil @0"])
        withExtendedLifetime(token) {}
    }

    @Test("P4 It is for the new observer alone")
    func forTheNewOneAlone() {
        let property = Observed(0)
        let (first, second) = (ReceivedChanges<Int>(), ReceivedChanges<Int>())
        let tokens = [
            property.observe(first, options: .initial), property.observe(second, options: .initial),
        ]
        #expect(first.lines == ["initial - → 0 @0"])
        #expect(second.lines == ["initial - → 0 @0"])
        withExtendedLifetime(tokens) {}
    }

    @Test("P4 A callback that cancels itself in the initial delivery receives nothing more", arguments: [false, true])
    func cancelsItself(isLast: Bool) throws {
        let lives = Lives()
        let property = Observed(0)
        let calls = Counter()
        let ends = Log<ObservationEnd>()
        let others = isLast ? [] : [property.observe { (_: Change<Int>) in }]
        let token: ObservationToken
        do {
            let life = lives.make()
            token = property.observe(options: .initial) { _, observation in
                life.touch()
                calls.increment()
                observation.cancel()
            }
        }
        #expect(!token.isActive)
        token.onEnd { ends.append($0) }
        property.value = 1
        #expect(calls.value == 1)
        try lives.waitUntilNoneIsLeft()
        try eventually("the end") { ends.entries == [.cancelled] }
        withExtendedLifetime(others) {}
    }

    @Test("P4 A change made in the initial delivery follows it, and nothing falls between")
    func setsInside() {
        let property = Observed(0)
        let received = ReceivedChanges<Int>()
        let token = property.observe(options: .initial) { change, _ in
            received.append(change)
            if change.reason == .initial { property.value = 1 }
        }
        #expect(received.lines == ["initial - → 0 @0", "valueChanged 0 → 1 @1"])
        withExtendedLifetime(token) {}
    }
}

// MARK: - Against writers

extension Promises.P04InitialTests {
    @Test("P4 A change that races with the initial delivery arrives meanwhile, on its own thread")
    func overlap() throws {
        let property = Observed(0)
        let arrived = Signal("the change")
        let received = ReceivedChanges<Int>()
        let token = property.observe(options: .initial) { (change: Change<Int>) in
            if change.reason == .initial {
                let writer = TestThread { property.value = 1 }
                arrived.hold()
                try? writer.join()
            } else {
                arrived.happen()
            }
            received.append(change)
        }
        #expect(received.lines == ["valueChanged 0 → 1 @1", "initial - → 0 @0"])
        withExtendedLifetime(token) {}
    }

    @Test("P4 It does not wait for the body of a modify, and receives what that has made")
    func besideModify() throws {
        let property = Observed(0)
        let (entered, exit) = (Signal("the body"), Signal("the body's release"))
        let writer = TestThread {
            property.modify { value in
                entered.happen()
                exit.hold()
                value = 1
            }
        }
        try entered.wait()
        let received = ReceivedChanges<Int>()
        let returned = Signal("the return of observe")
        let token = Slot<ObservationToken>()
        let observing = TestThread {
            token.put(property.observe(received, options: .initial))
            returned.happen()
        }
        try returned.wait()
        #expect(received.lines == ["initial - → 0 @0"])
        exit.happen()
        try writer.join()
        try observing.join()
        #expect(received.lines == ["initial - → 0 @0", "valueChanged 0 → 1 @1"])
        token.clear()
    }

    @Test(
        "P4 Nothing falls between the initial value and the first change, nothing repeats",
        arguments: numberedTypes.indices
    )
    func noGap(index: Int) throws { try everyLaterVersionOnce(numberedType(index)) }

    private func everyLaterVersionOnce<Value: Numbered>(_ type: Value.Type) throws {
        let property = Observed(Value(number: 0))
        let all = Log<ReceivedChanges<Value>>()
        let tokens = Log<ObservationToken>()
        let writers = Hammer(threads: 2) { property.modify { $0 = Value(number: $0.number + 1) } }
        try writers.waitUntilWarm()
        for _ in 0..<200 {
            let received = ReceivedChanges<Value>()
            tokens.append(property.observe(received, options: .initial))
            #expect(received.changes.contains { $0.reason == .initial })
            all.append(received)
        }
        try writers.stop()
        let last = property.version
        for received in all.entries {
            let initial = received.changes.filter { $0.reason == .initial }
            #expect(initial.count == 1)
            #expect(initial[0].new.number == Int(initial[0].version))
            #expect(initial[0].version <= last)
            #expect(received.versions.elementsEqual((initial[0].version..<last).map { $0 + 1 }))
            #expect(received.changes.allSatisfy { $0.new.number == Int($0.version) && $0.new.isWhole })
        }
        for token in tokens.entries { token.cancel() }
        try Process.settle()
    }

    @Test("P4 A change made before the registration is not delivered, even if its observers are being called only now")
    func nothingEarlier() throws {
        for _ in 0..<500 {
            let property = Observed(0)
            // So that the writer looks for observers at all.
            let bystander = property.observe { (_: Change<Int>) in }
            let received = ReceivedChanges<Int>()
            let token = Slot<ObservationToken>()
            try onTwoThreads({ property.value = 1 }, { token.put(property.observe(received, options: .initial)) })
            let initial = received.changes.first { $0.reason == .initial }
            #expect(received.versions == (initial?.version == 0 ? [1] : []))
            withExtendedLifetime((bystander, token)) {}
        }
    }
}

/// Runs both closures at the same time, one of them on the calling thread.
private func onTwoThreads(_ first: @escaping @Sendable () -> Void, _ second: () -> Void) throws {
    let begin = Flag()
    let thread = TestThread {
        begin.set()
        first()
    }
    while !begin.isSet {}
    second()
    try thread.join()
}
