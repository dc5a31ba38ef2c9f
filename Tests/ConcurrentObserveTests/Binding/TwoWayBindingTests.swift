// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("Binding: two-way")
    struct TwoWayBindingTests {}
}

extension Promises.TwoWayBindingTests {
    @Test("P3 The right takes the left's value, the left unchanged; then both directions")
    func bothDirections() {
        let (left, right) = (Observed("left"), Observed("right"))
        let (receivedLeft, receivedRight) = (ReceivedChanges<String>(), ReceivedChanges<String>())
        let tokens = [
            left.observe(receivedLeft), right.observe(receivedRight),
            left.bindBidirectionally(with: right),
        ]
        #expect(left.snapshot() == ("left", 0))
        #expect(right.snapshot() == ("left", 1))
        left.value = "a"
        #expect(right.value == "a")
        right.value = "b"
        #expect(left.value == "b")
        right.modify { $0 += "c" }
        left.exchange("d")
        #expect(right.value == "d")
        // Each change is delivered once on each side: nothing comes back.
        #expect(receivedLeft.changes.map { $0.new } == ["a", "b", "bc", "d"])
        #expect(receivedRight.changes.map { $0.new } == ["left", "a", "b", "bc", "d"])
        withExtendedLifetime(tokens) {}
    }

    @Test("P3 With transforms each side has what is made of the other; none comes back, also if they are not inverse")
    func transforms() {
        let (celsius, text) = (Observed(20), Observed(""))
        let token = celsius.bindBidirectionally(
            with: text,
            forward: { "\($0)" },
            backward: { Int($0) ?? -1 }
        )
        #expect(text.snapshot() == ("20", 1))
        text.value = "21"
        #expect(celsius.snapshot() == (21, 1))
        text.value = "warm"
        #expect(celsius.snapshot() == (-1, 2))
        #expect(text.snapshot() == ("warm", 3))
        celsius.value = 3
        #expect(text.snapshot() == ("3", 4))
        withExtendedLifetime(token) {}
    }

    @Test("P3 Nil is a value, both ways")
    func optionals() {
        let (left, right) = (Observed<String?>(nil), Observed<String?>("x"))
        let token = left.bindBidirectionally(with: right)
        #expect(right.snapshot() == (nil, 1))
        right.value = "a value that is too long to be kept in place"
        #expect(left.value == right.value)
        right.value = nil
        #expect(left.snapshot() == (nil, 2))
        withExtendedLifetime(token) {}
    }

    @Test("P6 Callbacks of both sides set their own and the other side: both end alike")
    func callbacksSet() {
        for order in 0..<2 {
            let (left, right) = (Observed(0), Observed(0))
            var tokens: [ObservationToken] = []
            if order == 0 { left.bindBidirectionally(with: right).store(in: &tokens) }
            left.observe { change in if change.new % 7 == 1 { right.value = change.new + 1 } }.store(in: &tokens)
            right.observe { change in if change.new % 7 == 3 { right.value = change.new + 1 } }.store(in: &tokens)
            right.observe { change in if change.new % 7 == 5 { left.value = change.new + 1 } }.store(in: &tokens)
            if order == 1 { left.bindBidirectionally(with: right).store(in: &tokens) }
            for value in 1..<50 {
                if value.isMultiple(of: 2) { left.value = value } else { right.value = value }
                #expect(left.value == right.value, "after \(value), order \(order)")
            }
        }
    }

    @Test("P3 P8 A pair that is bound again: each change makes one other, and each token ends its own binding alone")
    func boundAgain() {
        let (left, right) = (Observed(1), Observed(2))
        let first = left.bindBidirectionally(with: right)
        let second = right.bindBidirectionally(with: left)
        #expect(left.snapshot() == (1, 0))
        #expect(right.snapshot() == (1, 1))
        left.value = 3
        #expect(right.snapshot() == (3, 2))
        right.value = 4
        #expect(left.snapshot() == (4, 2))
        first.cancelAndWaitBlocking()
        left.value = 5
        #expect(right.snapshot() == (5, 4))
        right.value = 6
        #expect(left.snapshot() == (6, 4))
        second.cancelAndWaitBlocking()
        right.value = 7
        #expect(left.value == 6)
        // A new binding begins again with the left value.
        let third = left.bindBidirectionally(with: right)
        #expect(right.value == 6)
        withExtendedLifetime(third) {}
    }

    @Test("P3 A pair that is bound from both ends: two changes meet, and one prevails on both sides")
    func boundFromBothEnds() throws {
        let (left, right) = (Observed(0), Observed(0))
        let (rightIsSet, forwarded) = (Signal("a change of the right"), Signal("the left's change on the right"))
        let (received, goesOn) = (Signal("the end of the right's change"), Signal("the left's step"))
        let tokens = [
            // The right's change is there, and not passed on before the left's has met it.
            right.observe { change in
                guard change.new == 2 else { return }
                rightIsSet.happen()
                forwarded.hold()
            },
            left.bindBidirectionally(with: right),
            // The left's change has arrived, and only one of the two bindings knows.
            right.observe { change in
                guard change.new == 1 else { return }
                forwarded.happen()
                goesOn.hold()
            },
            right.bindBidirectionally(with: left),
        ]
        let setsRight = TestThread {
            right.value = 2
            received.happen()
        }
        try rightIsSet.wait()
        let setsLeft = TestThread { left.value = 1 }
        try received.wait()
        goesOn.happen()
        try setsLeft.join()
        try setsRight.join()
        #expect(left.value == 1 && right.value == 1)
        withExtendedLifetime(tokens) {}
    }

    @Test("P3 A pair is bound again while a callback of its ended binding still runs: the other side takes the value")
    func boundAgainBesideAnEndedOne() throws {
        let (left, right) = (Observed(0), Observed(0))
        let (inside, release) = (Signal("a transform that blocks"), Signal("its release"))
        let ended = left.bindBidirectionally(
            with: right,
            forward: { value in
                if value == 1 {
                    inside.happen()
                    release.hold()
                }
                return value
            },
            backward: { $0 }
        )
        let blocked = TestThread { left.value = 1 }
        try inside.wait()
        right.value = 8
        #expect(left.value == 8)
        ended.cancel()
        right.value = 9
        #expect(left.value == 8)
        let token = left.bindBidirectionally(with: right)
        #expect(right.value == 8)
        release.happen()
        try blocked.join()
        #expect(left.value == 8 && right.value == 8)
        right.value = 10
        #expect(left.value == 10)
        withExtendedLifetime(token) {}
    }

    @Test("P3 A pair is bound again with other transforms, its first binding ended: the right takes what they make")
    func boundAgainOtherwise() {
        for _ in 0..<50 {
            let (left, right) = (Observed(3), Observed(0))
            left.bindBidirectionally(with: right, forward: { $0 * 2 }, backward: { $0 / 2 }).cancel()
            #expect(right.value == 6)
            let token = left.bindBidirectionally(with: right, forward: { $0 * 10 }, backward: { $0 / 10 })
            #expect(right.value == 30)
            #expect(left.value == 3)
            right.value = 50
            #expect(left.value == 5)
            withExtendedLifetime(token) {}
        }
    }

    @Test(
        "P7 A callback of the left that blocks before the binding: both sides go on alike, and setters of the right do not wait"
    )
    func blockedBefore() throws {
        let (left, right) = (Observed(0), Observed(0))
        let (inside, release) = (Signal("a callback that blocks"), Signal("its release"))
        let tokens = [
            left.observe { change in
                guard change.new == 1 else { return }
                inside.happen()
                release.hold()
            },
            left.bindBidirectionally(with: right),
        ]
        let blocked = TestThread { left.value = 1 }
        try inside.wait()
        right.value = 2
        #expect(left.value == 2)
        right.value = 3
        #expect(left.value == 3)
        release.happen()
        try blocked.join()
        #expect(left.value == 3)
        #expect(right.value == 3)
        withExtendedLifetime(tokens) {}
    }

    @Test("P7 A callback of the right that blocks in a change from the left: both directions go on")
    func blockedBehind() throws {
        let (left, right) = (Observed(0), Observed(0))
        let (inside, release) = (Signal("a callback that blocks"), Signal("its release"))
        let tokens = [
            left.bindBidirectionally(with: right),
            right.observe { change in
                guard change.new == 1 else { return }
                inside.happen()
                release.hold()
            },
        ]
        let blocked = TestThread { left.value = 1 }
        try inside.wait()
        left.value = 2
        #expect(right.value == 2)
        right.value = 3
        #expect(left.value == 3)
        release.happen()
        try blocked.join()
        #expect(left.value == 3)
        #expect(right.value == 3)
        withExtendedLifetime(tokens) {}
    }
}
