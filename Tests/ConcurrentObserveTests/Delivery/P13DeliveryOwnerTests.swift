// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P13 Owners of observations that are not inline")
    struct P13DeliveryOwnerTests {}
}

/// An owner that shows whether its `deinit` has begun.
private final class Owner: Sendable {
    let hasBegunToDie: Flag

    init(_ hasBegunToDie: Flag) { self.hasBegunToDie = hasBegunToDie }

    deinit { hasBegunToDie.set() }
}

extension Promises.P13DeliveryOwnerTests {
    @Test(
        "P13 An owner that dies while changes wait receives none of them, of anything that can be observed",
        arguments: Route.named,
        ObservableKind.allCases
    )
    func whatWaits(route: Route, kind: ObservableKind) throws {
        let (thing, room, isDying) = (ObservableThing(kind), Room(route), Flag())
        let owner = Slot(Owner(isDying))
        let (numbers, late, ends) = (Log<Int>(), Counter(), Log<ObservationEnd>())
        let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
        let token = thing.with(
            Owned(owner.value!, room.delivery(.unbounded)) { owner, number in
                if isDying.isSet { late.increment() }
                numbers.append(number)
                entered.happen()
                exit.hold()
                withExtendedLifetime(owner) {}
            }
        )
        token.onEnd { ends.append($0) }
        let blocked = TestThread { thing.send(1) }
        try entered.wait()
        for number in 2...5 { thing.send(number) }
        owner.clear()
        // Its callback has it.
        #expect(!isDying.isSet)
        exit.happen()
        try blocked.join()
        try eventually("the end") { ends.count == 1 }
        #expect(isDying.isSet)
        #expect(ends.entries == [.ownerDeleted])
        #expect(numbers.entries == [1])
        #expect(late.value == 0)
        try token.waitUntilIdle()
        #expect(token.counts.parts == [5, 1, 4])
        thing.send(6)
        #expect(numbers.count == 1)
    }

    @Test(
        "P13 Once the owner's deinit has begun it is not called, with writers racing",
        arguments: Route.named,
        Origin.allCases
    )
    func race(route: Route, origin: Origin) throws {
        let (stage, room, late, calls) = (Stage(origin), Room(route), Counter(), Counter())
        let writers = Hammer(threads: 2) { stage.send(1) }
        try writers.waitUntilWarm()
        var tokens: [ObservationToken] = []
        for _ in 0..<60 {
            let isDying = Flag()
            let owner = Slot(Owner(isDying))
            let before = calls.value
            tokens.append(
                stage.observe(in: room, owner: owner.value!, buffering: .droppingOldest(8)) { _, _ in
                    if isDying.isSet { late.increment() }
                    calls.increment()
                }
            )
            try eventually("a callback") { calls.value > before }
            owner.clear()
        }
        try writers.stop()
        #expect(late.value == 0)
        // The last owner lives until the callback that has it returns.
        _ = try eventually("the ends") { tokens.allSatisfy { !$0.isActive } }
        try Process.settle()
        #expect(late.value == 0)
    }

    @Test(
        "P11 P13 With an owner and an observation actor, it ends with the one that dies first; neither is retained",
        arguments: ObservableKind.allCases
    )
    func ownerAndActor(kind: ObservableKind) throws {
        for diesFirst in ["owner", "actor"] {
            let (thing, isDying) = (ObservableThing(kind), Flag())
            let (owner, actor) = (Slot(Owner(isDying)), Slot(ObservationActor()))
            let (calls, ends) = (Counter(), Log<ObservationEnd>())
            let token = thing.with(
                Owned(owner.value!, .actor(actor.value!)) { [weak actor = actor.value!] _, _ in
                    actor!.preconditionIsolated()
                    calls.increment()
                }
            )
            token.onEnd { ends.append($0) }
            thing.send(1)
            try eventually("the first callback") { calls.value == 1 }
            let weak = Weak(actor.value!)
            if diesFirst == "owner" {
                owner.clear()
                try eventually("the owner's end") { isDying.isSet }
            } else {
                actor.clear()
                try eventually("the actor's end") { weak.object == nil }
            }
            thing.send(2)
            try eventually("the end") { ends.count == 1 }
            #expect(ends.entries == [.ownerDeleted])
            #expect(calls.value == 1)
            #expect(isDying.isSet == (diesFirst == "owner"))
            try token.waitUntilIdle()
        }
    }
}
