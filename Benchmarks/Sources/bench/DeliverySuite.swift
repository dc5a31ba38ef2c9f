// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch

/// Measures changes that are delivered elsewhere: their cost for the thread that makes them, and
/// the time until all are delivered.
enum DeliverySuite {
    static let cases = [
        enqueue("delivery.enqueue.actor", PropertyFlood.toActor, StreamFlood.init, .enqueue),
        enqueue("delivery.enqueue.actor-of-registry", RegistryFlood.init, StreamFlood.init, .enqueue),
        enqueue("delivery.enqueue.sequence", PropertyFlood.toSequence, StreamFlood.init, .ofSequence),
        enqueue("delivery.enqueue.queue", PropertyFlood.toQueue, StreamFlood.init, .enqueue),
        enqueue("task.enqueue.actor", PropertyFlood.toActor, TaskFlood.init, .enqueue),
        enqueue("opencombine.enqueue.queue", PropertyFlood.toQueue, SubjectFlood.init, .enqueue),
        consume("delivery.consume.actor", PropertyFlood.toActor, StreamFlood.init, .consumeStream),
        consume("delivery.consume.actor-of-registry", RegistryFlood.init, StreamFlood.init, .consumeStream),
        consume("delivery.consume.sequence", PropertyFlood.toSequence, StreamFlood.init, .ofSequence),
        consume("delivery.consume.queue", PropertyFlood.toQueue, StreamFlood.init, .consumeStream),
        consume("delivery.consume.serial", PropertyFlood.toSerial, StreamFlood.init, .consumeStream),
        consume("task.consume.actor", PropertyFlood.toActor, TaskFlood.init, .consumeTasks),
        consume("task.consume.actor-of-registry", RegistryFlood.init, TaskFlood.init, .consumeTasks),
        consume("opencombine.consume.queue", PropertyFlood.toQueue, SubjectFlood.init, .enqueue),
        latestOfBusyActor, latest,
    ]

    private static let events = 40_000

    /// Returns a case for the cost of a change for the thread that makes it, while the consumers
    /// run.
    private static func enqueue(
        _ name: String,
        _ ours: @escaping @Sendable (Int) -> any Flood,
        _ reference: @escaping @Sendable (Int) -> any Flood,
        _ bar: Bar
    ) -> Case {
        Case(name: name, unit: .nanoseconds, bar: bar, summary: .median) { effort in
            let events = effort.work(events)
            let (ours, reference) = (ours(events), reference(events))
            return Case.Sides(ours: ours.enqueue, reference: reference.enqueue)
        }
    }

    /// Returns a case for the cost of a change until it is delivered, in a flood of changes.
    private static func consume(
        _ name: String,
        _ ours: @escaping @Sendable (Int) -> any Flood,
        _ reference: @escaping @Sendable (Int) -> any Flood,
        _ bar: Bar
    ) -> Case {
        Case(name: name, unit: .nanoseconds, bar: bar, summary: .median) { effort in
            let events = effort.work(events)
            let (ours, reference) = (ours(events), reference(events))
            return Case.Sides(ours: ours.consume, reference: reference.consume)
        }
    }

    /// The allocations of the process while changes replace each other in the mailbox of a busy
    /// actor.
    private static let latestOfBusyActor = Case(
        name: "delivery.latest.allocations-while-busy",
        unit: .allocations,
        bar: .allocationsPerLatest,
        summary: .median,
        isLong: true
    ) { effort in
        let (property, receiver, counter) = (Observed(0), Receiver(of: .max), Counter())
        let token = property.observe(on: receiver, buffering: .latest) { receiver, change in
            receiver.receive(change.new)
            counter.value &+= 1
        }
        let times = effort.work(400_000)
        return Case.Sides(ours: {
            let (begins, ends) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            Task.detached { await receiver.block(begins, ends) }
            begins.wait()
            // The first change needs a job, which then waits.
            setInLoop(property, 1)
            let count = allocations { setInLoop(property, times) }
            ends.signal()
            return withExtendedLifetime(token) { Double(count) }
        })
    }

    /// The allocations of the process for each change that an actor receives, if changes replace
    /// each other in its mailbox. Whenever it has received all changes, a task is made to wake it.
    /// The number of tasks depends on the machine: at worst, each change has its own.
    private static let latest = Case(
        name: "delivery.latest.allocations-per-delivery",
        unit: .allocations,
        bar: .allocationsPerDelivery,
        summary: .median,
        isLong: true
    ) { effort in
        let (property, receiver, deliveries) = (Observed(0), Receiver(of: .max), Observed(0))
        let counter = Counter()
        let token = property.observe(on: receiver, buffering: .latest) { receiver, change in
            receiver.receive(change.new)
            counter.value &+= 1
            deliveries.modify { $0 &+= 1 }
        }
        let times = effort.work(400_000)
        return Case.Sides(ours: {
            let before = deliveries.value
            let count = withExtendedLifetime((token, receiver)) { allocations { setInLoop(property, times) } }
            return Double(count) / Double(max(deliveries.value - before, 1))
        })
    }
}
