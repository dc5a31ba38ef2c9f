// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    /// A search for callbacks that do not return finds their names, and delays no thread.
    @Suite("P7 Running callbacks")
    struct P07RunningCallbackTests {}
}

extension Promises.P07RunningCallbackTests {
    @Test(
        "P7 A running callback is reported with the label of its registry, inline and in a delivery",
        arguments: [false, true]
    )
    func label(isDelivered: Bool) throws {
        let (before, registry, behind) = (
            ObserverRegistry<Int>(label: "before"), ObserverRegistry<Int>(label: "stuck"),
            ObserverRegistry<Int>(label: "behind")
        )
        let (entered, exit) = (Signal("the callback"), Signal("its release"))
        let others = [before, registry, behind].map { $0.observe { _ in } }
        let delivery = Delivery.queue(DispatchQueue(label: "stuck"))
        let hold: @Sendable (Int) -> Void = { _ in
            entered.happen()
            exit.hold()
        }
        let token = isDelivered ? registry.observe(delivery: delivery, hold) : registry.observe(hold)
        try eventually("quiet") { ConcurrentObserveDiagnostics.callbacks(runningFor: .zero).isEmpty }
        let thread = TestThread { registry.notify(1) }
        try entered.wait()
        // A delivery may have begun before the callback that sends has returned.
        try eventually("one callback") { ConcurrentObserveDiagnostics.callbacks(runningFor: .zero).count == 1 }
        let first = try #require(ConcurrentObserveDiagnostics.callbacks(runningFor: .zero).first)
        #expect(first.label == "stuck")
        try eventually("a greater age") {
            let found = ConcurrentObserveDiagnostics.callbacks(runningFor: .milliseconds(20))
            return found.count == 1 && found[0].id == first.id && found[0].age! >= .milliseconds(20)
        }
        #expect(ConcurrentObserveDiagnostics.callbacks(runningFor: .seconds(3_600)).isEmpty)
        // Its observation ended, it still runs, and the entry has its address.
        if !isDelivered {
            token.cancel()
            #expect(ConcurrentObserveDiagnostics.callbacks(runningFor: .zero).first?.label == "stuck")
        }
        exit.happen()
        try thread.join()
        _ = token.cancelAndWaitBlocking()
        try eventually("no running callback") { ConcurrentObserveDiagnostics.callbacks(runningFor: .zero).isEmpty }
        withExtendedLifetime((others, before, behind)) {}
    }

    @Test("P7 Two calls of one callback have two identities; a property's has no label")
    func identity() throws {
        try eventually("quiet") { ConcurrentObserveDiagnostics.callbacks(runningFor: .zero).isEmpty }
        let property = Observed(0)
        let (entered, exit) = (Counter(), Signal("the release"))
        let token = property.observe { _ in
            entered.increment()
            exit.hold()
        }
        let threads = (1...2).map { value in TestThread { property.value = value } }
        try eventually("two calls") { entered.value == 2 }
        let running = ConcurrentObserveDiagnostics.callbacks(runningFor: .zero)
        #expect(running.count == 2 && Set(running.map(\.id)).count == 2)
        #expect(running.allSatisfy { $0.label == nil })
        exit.happen()
        for thread in threads { try thread.join() }
        withExtendedLifetime(token) {}
    }

    @Test("P7 A running callback of a property is reported with the observation's label, or the property's")
    func labelOfAProperty() throws {
        let (named, unnamed) = (Observed(0, label: "mileage"), Observed(0))
        let referent = WeakObserved<Referent>(label: "driver")
        let (entered, exit) = (Counter(), Signal("the release"))
        let hold: @Sendable () -> Void = {
            entered.increment()
            exit.hold()
        }
        let tokens = [
            named.observe { _ in hold() }, unnamed.observe { _ in hold() }, referent.observe { _ in hold() },
            named.observe(delivery: .queue(DispatchQueue(label: "held"))) { _ in hold() },
        ]
        tokens[1].label = "dashboard"
        tokens[3].label = "journal"
        try eventually("quiet") { ConcurrentObserveDiagnostics.callbacks(runningFor: .zero).isEmpty }
        let threads = [
            TestThread { named.value = 1 }, TestThread { unnamed.value = 1 }, TestThread { referent.value = nil },
        ]
        try eventually("four calls") { entered.value == 4 }
        let labels = ConcurrentObserveDiagnostics.callbacks(runningFor: .zero).map(\.label)
        #expect(Set(labels) == ["mileage", "dashboard", "driver", "journal"])
        #expect(referent.label == "driver")
        exit.happen()
        for thread in threads { try thread.join() }
        for token in tokens { token.cancelAndWaitBlocking() }
    }

    @Test("P7 The first look at a callback that is stuck finds its age, though nothing was ever reclaimed")
    func firstLook() async {
        await #expect(processExitsWith: .success) {
            Process.limitLife(seconds: 30)
            let registry = ObserverRegistry<Int>()
            let (entered, exit) = (Signal("the callback"), Signal("its release"))
            let token = registry.observe { _ in
                entered.happen()
                exit.hold()
            }
            let thread = TestThread { registry.notify(1) }
            try entered.wait()
            let begin = ContinuousClock.now
            while begin.duration(to: .now) < .seconds(3) { briefPause() }
            let age = ConcurrentObserveDiagnostics.current().oldestCallbackAge ?? .zero
            // The library looks once a second.
            precondition(age > .milliseconds(500), "\(age)")
            exit.happen()
            try thread.join()
            withExtendedLifetime(token) {}
        }
    }

    @Test("P7 Registries with labels come and go by the thousand")
    func manyLabels() throws {
        try eventually("quiet") { ConcurrentObserveDiagnostics.callbacks(runningFor: .zero).isEmpty }
        for number in 0..<10_000 { _ = ObserverRegistry<Int>(label: "\(number)") }
        let last = ObserverRegistry<Int>(label: "last")
        let (entered, exit) = (Signal("the callback"), Signal("its release"))
        let token = last.observe { _ in
            entered.happen()
            exit.hold()
        }
        let thread = TestThread { last.notify(1) }
        try entered.wait()
        #expect(ConcurrentObserveDiagnostics.callbacks(runningFor: .zero).first?.label == "last")
        exit.happen()
        try thread.join()
        withExtendedLifetime(token) {}
    }

    @Test("P1 The process's dropped events are those of all observations")
    func dropped() throws {
        let before = ConcurrentObserveDiagnostics.current().droppedEvents
        let queue = DispatchQueue(label: "held")
        queue.suspend()
        let property = Observed(0)
        let tokens = [Buffering.latest, .droppingNewest(1), .droppingOldest(2)].map { buffering in
            property.observe(delivery: .queue(queue, buffering: buffering)) { _ in }
        }
        try onThreads(2) { _ in for value in 1...5 { property.value = value } }
        let dropped = tokens.map { $0.deliveryCounts!.dropped }
        #expect(dropped == [9, 9, 8])
        // Or more: what earlier tests have left is dropped whenever a thread comes to it.
        #expect(ConcurrentObserveDiagnostics.current().droppedEvents >= before + 26)
        queue.resume()
        for token in tokens { token.cancelAndWaitBlocking() }
    }
}
