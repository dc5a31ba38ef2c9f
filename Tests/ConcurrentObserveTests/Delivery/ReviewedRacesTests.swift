// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    @Suite("Deliveries: races found in review")
    struct ReviewedRacesTests {}
}

/// An actor that is only called.
private actor Bystander {}

private final class Leaf: ConcurrentObservable { let life = Observed<Life?>(nil) }
private final class Root: ConcurrentObservable { let leaf = Observed(Leaf()) }

/// A serial queue that is busy until it is released.
private struct BusyQueue {
    let queue = DispatchQueue(label: "busy")

    /// Makes the queue wait for `gate` after its present work. Returns a signal that happens when
    /// the queue waits.
    func block(until gate: Signal) -> Signal {
        let reached = Signal("the queue's block")
        queue.async {
            reached.happen()
            gate.hold()
        }
        return reached
    }
}

// MARK: - The end before the beginning

extension Promises.ReviewedRacesTests {
    @Test("P8 Ending all of an owner's observations while one is registered ends no other, on the source or elsewhere")
    func endsWhileItBegins() async {
        // In a process of its own: it used to write where it must not.
        await #expect(processExitsWith: .success) {
            let (property, registry, owner) = (Observed(0), ObserverRegistry<Int>(), Mortal(Counter()))
            let (received, done) = (Counter(), Flag())
            let bystanders = [
                property.observe { (_: Change<Int>) in received.increment() },
                registry.observe { _ in received.increment() },
            ]
            let ending = TestThread { while !done.isSet { ObservationToken.cancelAll(ownedBy: owner) } }
            for number in 1...8_000 {
                let tokens = [
                    property.observe(owner: owner, delivery: .serial()) { _, _ in },
                    registry.observe(owner: owner, delivery: .serial()) { _, _ in },
                ]
                property.value = number
                registry.notify(number)
                check(received.value == 2 * number, "\(received.value) of \(2 * number) were delivered")
                withExtendedLifetime(tokens) {}
            }
            done.set()
            try ending.join()
            try Process.settle()
            check(registry.observationCount == 1, "\(registry.observationCount) observers are left")
            check(ConcurrentObserveDiagnostics.current().liveObservers == 2, "observers of the library's are left")
            withExtendedLifetime(bystanders) {}
        }
    }
}

// MARK: - What is left of a batch

extension Promises.ReviewedRacesTests {
    @Test("P8 P14 What waits for the queue's next block is dropped with the observation, not when the queue has time")
    func betweenBlocks() throws {
        let (lives, queue, received) = (Lives(), BusyQueue(), Counter())
        let (first, second) = (Signal("the first gate"), Signal("the second gate"))
        let property = Observed<Life?>(nil)
        try queue.block(until: first).wait()
        let token = property.observe(delivery: .queue(queue.queue)) { (_: Change<Life?>) in
            received.increment()
        }
        for _ in 0..<1000 { property.value = lives.make() }
        property.value = nil
        // Comes between the first block and the next.
        let reached = queue.block(until: second)
        first.happen()
        try reached.wait()
        let before = received.value
        #expect(before > 0 && before < 1000)
        token.cancel()
        try lives.waitUntilNoneIsLeft()
        let counts = try #require(token.deliveryCounts)
        #expect(counts.received == UInt64(before) && counts.dropped == 1001 - UInt64(before))
        second.happen()
        try Process.settle()
        #expect(received.value == before)
    }

    @Test("P1 What waits for the next job of an actor that dies is counted as dropped")
    func actorDiesBetweenJobs() throws {
        let (received, entered, gate) = (Counter(), Signal("the first callback"), Signal("the gate"))
        let property = Observed(0)
        let listener = Slot(Bystander())
        let token = property.observe(on: listener.value!) { _, _ in
            guard received.increment() == 1 else { return }
            entered.happen()
            gate.hold()
        }
        property.value = 1
        try entered.wait()
        for number in 2...1000 { property.value = number }
        listener.clear()
        gate.happen()
        try eventually("the end") { !token.isActive }
        try eventually("the end of what is pending") { token.deliveryCounts!.pending == 0 }
        #expect(token.deliveryCounts!.sent == 1000)
        #expect(received.value < 1000)
    }

    @Test("P1 The serialising actor's counts learn what was dropped after the end")
    func countsOfTheEnded() throws {
        for _ in 0..<5 {
            let (received, entered, gate) = (Counter(), Signal("the first callback"), Signal("the gate"))
            let (actor, property) = (ObservationActor(), Observed(0))
            let token = property.observe(delivery: .actor(actor)) { _ in
                guard received.increment() == 1 else { return }
                entered.happen()
                gate.hold()
            }
            property.value = 1
            try entered.wait()
            for number in 2...50_000 { property.value = number }
            gate.happen()
            try eventually("some callbacks") { received.value > 2 }
            token.cancel()
            try eventually("the end of what is pending") { token.deliveryCounts!.pending == 0 }
            try eventually("the same in the actor's counts") { actor.deliveryCounts.pending == 0 }
            #expect(actor.deliveryCounts == token.deliveryCounts)
        }
    }
}

// MARK: - What is dropped

extension Promises.ReviewedRacesTests {
    @Test("P7 The end of a dropped value, which blocks, keeps no other observer from receiving the change")
    func blockedEndOfADroppedValue() throws {
        let (lives, gate, entered) = (Lives(), Signal("the gate"), Signal("the deinit"))
        let (property, queue, received) = (Observed<Life?>(nil), BusyQueue(), Counter())
        let queueGate = Signal("the queue's gate")
        try queue.block(until: queueGate).wait()
        let tokens = [
            property.observe(delivery: .queue(queue.queue, buffering: .droppingOldest(2))) { (_: Change<Life?>) in
            },
            property.observe(delivery: .queue(DispatchQueue(label: "idle"))) { (_: Change<Life?>) in
                received.increment()
            },
        ]
        property.value = lives.make {
            entered.happen()
            gate.hold()
        }
        property.value = nil
        try eventually("two changes") { received.value == 2 }
        // From here on the first queue's mailbox alone keeps the value.
        try Process.settle()
        let setter = TestThread { property.value = nil }
        try entered.wait()
        try eventually("the third change") { received.value == 3 }
        gate.happen()
        try setter.join()
        queueGate.happen()
        try lives.waitUntilNoneIsLeft()
        withExtendedLifetime(tokens) {}
    }

    @Test("P5 What a mailbox drops of a path's changes that came early is destroyed under no lock")
    func droppedAmongTheEarly() throws {
        let (lives, gate, entered) = (Lives(), Signal("the gate"), Signal("the first callback"))
        let (root, queue, queueGate) = (Root(), BusyQueue(), Signal("the queue's gate"))
        let leaf = root.leaf.value
        try queue.block(until: queueGate).wait()
        let blocking = leaf.life.observe { (change: Change<Life?>) in
            guard change.version == 1 else { return }
            entered.happen()
            gate.hold()
        }
        let token = root.observe(\.leaf.life, delivery: .queue(queue.queue, buffering: .droppingNewest(1))) { _ in }
        let setter = TestThread { leaf.life.value = nil }
        try entered.wait()
        let isDone = Flag()
        // Sets the property as it dies: that waits for the lock, if one is held.
        leaf.life.value = lives.make {
            leaf.life.value = nil
            isDone.set()
        }
        leaf.life.value = nil
        gate.happen()
        try eventually("the end of the dropped value") { isDone.isSet }
        try setter.join()
        queueGate.happen()
        withExtendedLifetime((blocking, token)) {}
    }
}
