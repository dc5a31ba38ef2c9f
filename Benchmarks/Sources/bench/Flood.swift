// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import OpenCombine
import OpenCombineDispatch

/// Sends in a round as many events as its receiver expects.
protocol Flood {
    var receiver: Receiver { get }
    func send(_ events: Int)
}

extension Flood {
    /// Returns the nanoseconds for each event until all are sent.
    func enqueue() -> Double {
        let time = nanoseconds { send(receiver.expected) }
        receiver.waitForAll()
        return time / Double(receiver.expected)
    }

    /// Returns the nanoseconds for each event until all are delivered.
    func consume() -> Double {
        let time = nanoseconds {
            send(receiver.expected)
            receiver.waitForAll()
        }
        return time / Double(receiver.expected)
    }
}

/// Receives events. Some cases use the actor itself.
actor Receiver {
    nonisolated let expected: Int
    private nonisolated let tally: Tally

    init(of expected: Int) {
        self.expected = expected
        tally = Tally(expected)
    }

    func receive(_ value: Int) { tally.receive(value) }

    func consume(_ stream: AsyncStream<Int>) async {
        for await value in stream { tally.receive(value) }
    }

    func consume(_ values: ObservationSequence<Int>, _ begins: DispatchSemaphore) async {
        var iterator = values.makeAsyncIterator()
        begins.signal()
        while let value = await iterator.next(isolation: self) { tally.receive(value) }
    }

    /// Occupies the actor and its thread.
    func block(_ begins: DispatchSemaphore, _ ends: DispatchSemaphore) {
        begins.signal()
        ends.wait()
    }

    /// Receives a value outside the actor. Only one thread at a time may call it.
    nonisolated func receiveElsewhere(_ value: Int) { tally.receive(value) }

    nonisolated func waitForAll() { tally.isComplete.wait() }
}

/// Counts the events that arrive one at a time.
private final class Tally: @unchecked Sendable {
    // Unchecked: only one thread at a time delivers, in order.
    let isComplete = DispatchSemaphore(value: 0)
    private let expected: Int
    private var missing: Int
    private var sum = 0

    init(_ expected: Int) { (self.expected, missing) = (expected, expected) }

    func receive(_ value: Int) {
        sum &+= value
        missing -= 1
        guard missing == 0 else { return }
        missing = expected
        isComplete.signal()
    }
}

// MARK: - Ours

/// Sends changes of a property.
final class PropertyFlood: Flood {
    let receiver: Receiver
    private let property = Observed(0)
    private var token: ObservationToken?
    private var task: Task<Void, Never>?

    private init(_ expected: Int) { receiver = Receiver(of: expected) }

    deinit { task?.cancel() }

    static func toActor(_ expected: Int) -> PropertyFlood {
        let flood = PropertyFlood(expected)
        flood.token = flood.property.observe(on: flood.receiver) { receiver, change in
            receiver.receive(change.new)
        }
        return flood
    }

    static func toQueue(_ expected: Int) -> PropertyFlood {
        delivered(.queue(DispatchQueue(label: "receiver")), expected)
    }

    static func toSerial(_ expected: Int) -> PropertyFlood { delivered(.serial(), expected) }

    private static func delivered(_ delivery: Delivery, _ expected: Int) -> PropertyFlood {
        let flood = PropertyFlood(expected)
        let receiver = flood.receiver
        flood.token = flood.property.observe(delivery: delivery) { change in
            receiver.receiveElsewhere(change.new)
        }
        return flood
    }

    static func toSequence(_ expected: Int) -> PropertyFlood {
        let flood = PropertyFlood(expected)
        let (receiver, values) = (flood.receiver, flood.property.values())
        let begins = DispatchSemaphore(value: 0)
        flood.task = Task.detached { await receiver.consume(values, begins) }
        begins.wait()
        return flood
    }

    func send(_ events: Int) { setInLoop(property, events) }
}

/// Sends events of a registry to an actor.
final class RegistryFlood: Flood {
    let receiver: Receiver
    private let registry = ObserverRegistry<Int>()
    private let token: ObservationToken

    init(_ expected: Int) {
        receiver = Receiver(of: expected)
        token = registry.observe(on: receiver) { receiver, event in receiver.receive(event) }
    }

    @inline(never)
    func send(_ events: Int) {
        for event in 0..<events { registry.notify(event) }
    }
}

// MARK: - Theirs

/// Sends values of an unbounded asynchronous stream, which an actor iterates.
final class StreamFlood: Flood {
    let receiver: Receiver
    private let continuation: AsyncStream<Int>.Continuation

    init(_ expected: Int) {
        let receiver = Receiver(of: expected)
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        Task.detached { await receiver.consume(stream) }
        (self.receiver, self.continuation) = (receiver, continuation)
    }

    deinit { continuation.finish() }

    @inline(never)
    func send(_ events: Int) {
        for event in 0..<events { continuation.yield(event) }
    }
}

/// Makes a task for each event. The task calls the actor.
final class TaskFlood: Flood {
    let receiver: Receiver

    init(_ expected: Int) { receiver = Receiver(of: expected) }

    @inline(never)
    func send(_ events: Int) {
        for event in 0..<events { Task { [receiver] in await receiver.receive(event) } }
    }
}

/// Sends values of a subject, which a queue receives.
final class SubjectFlood: Flood {
    let receiver: Receiver
    private let subject = PassthroughSubject<Int, Never>()
    private let sink: AnyCancellable

    init(_ expected: Int) {
        let receiver = Receiver(of: expected)
        self.receiver = receiver
        sink = subject.receive(on: DispatchQueue(label: "receiver").ocombine)
            .sink { value in receiver.receiveElsewhere(value) }
    }

    @inline(never)
    func send(_ events: Int) {
        for event in 0..<events { subject.send(event) }
    }
}
