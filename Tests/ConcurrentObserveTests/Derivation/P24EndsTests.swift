// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Foundation
import Testing

extension Promises {
    @Suite("P24 The end of a derived value's last observation ends what it has at its sources, before the call returns")
    struct P24EndsTests {}
}

extension Promises.P24EndsTests {
    /// The way in which an observation ends.
    enum Way: String, CaseIterable, Sendable {
        case cancel, drop = "dropping the token", removal = "cancelAllObservations()"
        case wait = "cancelAndWaitBlocking()", body = "in a body", callback = "in a callback", sweep =
            "a dead owner, noticed"
    }

    static var deliveries: [DerivedForm] {
        [.token, .serial, .queue, .actor, .owner, .withHandle, .binding, .group, .list, .nestedGroup]
    }

    @Test(
        "P24 P8 Whichever way, with every delivery",
        arguments: Way.allCases,
        deliveries
    )
    func ends(_ way: Way, _ form: DerivedForm) throws {
        let (a, b, received, owner) = (Observed(0), Observed(0), ReceivedNumbers(), Slot(Counter()))
        let derived = a.combine(b) { $0 * 10 + $1 }
        let outer = derived.map { $0 }
        var going: DerivedForm.Going? = form.begin(outer, received)
        let bound = way == .sweep ? outer.observe(owner: owner.value!) { _, _ in } : nil
        #expect(a.observationCount == 1 && b.observationCount == 1)
        a.value = 1
        try eventually("the first number") { received.last == 10 }
        switch way {
        case .cancel: going!.token!.cancel()
        case .drop: going = nil
        case .removal: outer.cancelAllObservations()
        case .wait: _ = going!.token!.cancelAndWaitBlocking()
        case .body: a.modify { [going] _ in going!.token!.cancel() }
        case .callback:
            let slot = Slot(going!.token!)
            let counts = Log<Int>()
            let inner = a.observe { _ in
                slot.value?.cancel()
                counts.append(b.observationCount)
            }
            a.value = 2
            #expect(counts.entries == [0])
            inner.cancel()
        case .sweep:
            going!.end()
            #expect(a.observationCount == 1)
            owner.clear()
            #expect(!bound!.isActive)
        }
        #expect(a.observationCount == 0 && b.observationCount == 0)
        let again = outer.observe { _ in }
        #expect(a.observationCount == 1)
        again.cancel()
        #expect(a.observationCount == 0)
        withExtendedLifetime(going) {}
    }

    @Test("P24 P8 A sequence's iterator is dropped, or its task cancelled")
    func iterators() async throws {
        let a = Observed(0)
        let tens = a.map { $0 * 10 }
        var iterator: ObservationSequence<Int>.AsyncIterator? = tens.values().makeAsyncIterator()
        #expect(a.observationCount == 1)
        a.value = 1
        let first = await iterator!.next()
        #expect(first == 10)
        iterator = nil
        #expect(a.observationCount == 0)
        let (sequence, received) = (tens.values(options: .initial), ReceivedNumbers())
        let task = Task { for await number in sequence { received.append(number) } }
        try await eventuallyAsync("the first number") { received.last == 10 }
        #expect(a.observationCount == 1)
        task.cancel()
        // The task may not be back in `next()`, which then ends the observation.
        try await eventuallyAsync("the end of the observation") { a.observationCount == 0 }
        let token = tens.observe { _ in }
        #expect(await token.cancelAndWait() == .finished && a.observationCount == 0)
    }

    @Test("P24 P8 While another thread is inside the function, and a callback is stuck")
    func duringEvaluation() throws {
        let (a, entered, leave) = (Observed(0), Signal("an evaluation"), Signal("the end of the evaluation"))
        let derived = Derived { get in
            if get(a) == 1 {
                entered.happen()
                leave.hold()
            }
            return get(a)
        }
        let token = derived.observe { _ in }
        let thread = TestThread { a.value = 1 }
        try entered.wait()
        token.cancel()
        #expect(a.observationCount == 0)
        leave.happen()
        try thread.join()
        #expect(a.observationCount == 0 && derived.value == 1)
    }

    @Test("P24 What an evaluation newly reads that another thread makes meanwhile is not left linked")
    func newSourceDuringEvaluation() throws {
        let (a, b, entered, leave) = (
            Observed(0), Observed(0), Signal("an evaluation"), Signal("the end of the evaluation")
        )
        let derived = Derived { get in
            guard get(a) == 1 else { return 0 }
            entered.happen()
            leave.hold()
            return get(b)
        }
        let token = derived.observe { _ in }
        let thread = TestThread { a.value = 1 }
        try entered.wait()
        token.cancel()
        leave.happen()
        try thread.join()
        #expect(a.observationCount == 0 && b.observationCount == 0)
    }

    @Test("P24 Observations that come and go on several threads leave nothing")
    func churn() throws {
        let (a, received) = (Observed(0), Counter())
        let derived = a.map { $0 }
        try onThreads(4) { thread in
            for number in 1...500 {
                if thread == 0 {
                    a.value = number
                } else {
                    let token = derived.observe { _ in received.increment() }
                    if number % 3 == 0 { a.value = -number }
                    token.cancel()
                }
            }
        }
        #expect(a.observationCount == 0)
        let token = derived.observe { _ in received.increment() }
        let before = received.value
        a.value = 1_000
        #expect(received.value == before + 1 && a.observationCount == 1)
        token.cancel()
    }

    @Test("P24 Once the last observation has ended, no thread evaluates for it, even if roots are new in each run")
    func endlessRoots() throws {
        let (items, index) = ((0..<1_000).map { Observed($0) }, Observed(0))
        let (isBusy, hasReturned, runs) = (Observed(false), Flag(), Counter())
        let derived = Derived { get in
            runs.increment()
            let place = get(index)
            if isBusy.value { onAnotherThread { index.modify { $0 += 1 } } }
            return get(items[place % 1_000])
        }
        let token = derived.observe { _ in }
        isBusy.value = true
        defer { isBusy.value = false }
        Thread.detachNewThread {
            index.modify { $0 += 1 }
            hasReturned.set()
        }
        let before = runs.value
        try eventually("some evaluations") { runs.value > before + 100 }
        token.cancel()
        try eventually("the call that made a change returns") { hasReturned.isSet }
    }
}
