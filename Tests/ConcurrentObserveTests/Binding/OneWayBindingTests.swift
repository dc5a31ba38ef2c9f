// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("Binding: one-way")
    struct OneWayBindingTests {}
}

extension Promises.OneWayBindingTests {
    @Test("P3 The destination takes the value at once and follows, with every kind of change")
    func follows() {
        let (source, destination) = (Observed(1), Observed(0))
        let token = source.bind(to: destination)
        #expect(destination.snapshot() == (1, 1))
        source.value = 2
        #expect(destination.value == 2)
        source.modify { $0 += 1 }
        #expect(destination.value == 3)
        source.exchange(4)
        #expect(destination.value == 4)
        source.compareExchange(expected: 4, desired: 5)
        #expect(destination.snapshot() == (5, 5))
        // The destination keeps a value of its own until the source changes. The source does not
        // receive it.
        destination.value = 100
        #expect(source.snapshot() == (5, 4))
        source.value = 6
        #expect(destination.value == 6)
        #expect(token.isActive)
        withExtendedLifetime(token) {}
    }

    @Test("P1 Observers of the destination receive one change for each of the source's")
    func isReceived() {
        let (source, destination) = (Observed("a"), Observed(""))
        let received = ReceivedChanges<String>()
        let tokens = [destination.observe(received, options: .prior), source.bind(to: destination)]
        source.value = "b"
        #expect(
            received.lines == [
                "prior - →  @0", "valueChanged  → a @1", "prior - → a @1", "valueChanged a → b @2",
            ]
        )
        withExtendedLifetime(tokens) {}
    }

    @Test("P3 With a transform the destination has what it makes of the value")
    func transforms() {
        let (source, destination) = (Observed(7), Observed(""))
        let token = source.bind(to: destination) { "\($0)" }
        #expect(destination.value == "7")
        source.value = 8
        #expect(destination.value == "8")
        withExtendedLifetime(token) {}
    }

    @Test("P3 Nil is a value, to and fro")
    func optionals() {
        let (source, destination) = (Observed<Int?>(nil), Observed<Int?>(1))
        let length = Observed(-1)
        let tokens = [source.bind(to: destination), source.bind(to: length) { $0 ?? 0 }]
        #expect(destination.snapshot() == (nil, 1))
        #expect(length.value == 0)
        source.value = 3
        #expect(destination.value == 3)
        source.value = nil
        #expect(destination.snapshot() == (nil, 3))
        #expect(length.value == 0)
        withExtendedLifetime(tokens) {}
    }

    @Test("P8 Released or cancelled, it does not follow any more")
    func ends() throws {
        let (source, destination) = (Observed(1), Observed(0))
        var token: ObservationToken? = source.bind(to: destination)
        source.value = 2
        token = nil
        source.value = 3
        #expect(destination.value == 2)
        _ = source.bind(to: destination)
        source.value = 4
        #expect(destination.value == 3)
        token = source.bind(to: destination)
        token!.cancel()
        #expect(!token!.isActive)
        source.value = 5
        #expect(destination.value == 4)
        #expect(waitsForTheEnd(of: token!))
    }

    @Test("P3 A transform of a cancelled binding returns late: what another binding has passed on meanwhile stays")
    func cancelledBesideAnother() throws {
        let (source, destination) = (Observed(0), Observed(0))
        let (inside, release) = (Signal("a transform that blocks"), Signal("its release"))
        let lasting = source.bind(to: destination)
        let ended = source.bind(to: destination) { value in
            if value == 5 {
                inside.happen()
                release.hold()
            }
            return value
        }
        let blocked = TestThread { source.value = 5 }
        try inside.wait()
        ended.cancel()
        source.value = 6
        #expect(destination.value == 6)
        release.happen()
        try blocked.join()
        #expect(destination.value == 6)
        #expect(lasting.isActive)
    }

    @Test("P3 An older change arrives at a binding after a later one came round its cycle: it undoes nothing")
    func olderThanWhatCameRound() {
        let (source, destination) = (Observed(0), Observed(0))
        let tokens = [
            source.observe { change in if change.new == 5 { destination.value = 6 } },
            source.bind(to: destination),
            destination.bind(to: source),
        ]
        source.value = 5
        #expect((source.value, destination.value) == (6, 6))
        withExtendedLifetime(tokens) {}
    }

    @Test("P6 A change that comes round a cycle waits for no thread that is in a modify of where it was")
    func roundWithoutWaiting() throws {
        let (first, second) = (Observed(0), Observed(0))
        let (changed, set) = (Signal("the second change"), Signal("the return of the setter"))
        let inside = Signal("the body")
        let relay = second.observe { change in
            guard change.new == 1 else { return }
            changed.happen()
            inside.hold()
        }
        // After the relay: the way back comes when the body runs.
        let tokens = [first.bind(to: second), second.bind(to: first)]
        let hasReturned = Flag()
        let setter = TestThread {
            first.value = 1
            set.happen()
        }
        try changed.wait()
        let holder = TestThread {
            first.modify { value in
                inside.happen()
                if set.happens(within: patience) { hasReturned.set() }
                value = 2
            }
        }
        try holder.join()
        try setter.join()
        #expect(hasReturned.isSet)
        #expect(first.value == 2)
        withExtendedLifetime((tokens, relay)) {}
    }

    @Test("P6 A callback of the destination sets the source: the destination ends with that value")
    func setsTheSource() {
        let (source, destination) = (Observed(0), Observed(0))
        let tokens = [
            source.bind(to: destination),
            destination.observe { change in if change.new < 5 { source.value = change.new + 1 } },
        ]
        source.value = 1
        #expect(source.value == 5)
        #expect(destination.value == 5)
        withExtendedLifetime(tokens) {}
    }

    @Test("P6 A transform and a prior delivery that set the source: the later value stays")
    func setsTheSourceOnTheWay() {
        let (source, destination) = (Observed(0), Observed(0))
        let tokens = [
            source.bind(to: destination) { value in
                if value == 1 { source.value = 2 }
                return value
            },
            destination.observe(options: .prior) { change in
                if change.reason == .prior, source.value == 3 { source.value = 4 }
            },
        ]
        source.value = 1
        #expect(destination.value == 2)
        source.value = 3
        #expect(source.value == 4)
        #expect(destination.value == 4)
        withExtendedLifetime(tokens) {}
    }

    @Test("P5 Setting the source in the body of the destination's modify traps with the rule")
    func trapsInModify() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (source, destination) = (Observed(0), Observed(0))
            let token = source.bind(to: destination)
            destination.modify { _ in source.value = 1 }
            withExtendedLifetime(token) {}
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            message.contains("a property was changed inside the body of a modify or a commit that does not include it")
        )
    }
}
