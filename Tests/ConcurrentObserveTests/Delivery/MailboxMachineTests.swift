// SPDX-License-Identifier: Apache-2.0

@testable import ConcurrentObserve
import Testing

extension Promises {
    @Suite("The mailbox as a state machine")
    struct MailboxMachineTests {}
}

/// Tests every short sequence of events, and compares with a model that keeps a plain array.
extension Promises.MailboxMachineTests {
    @Test("P1 P2 P8 P12 A delivery's mailbox: no event is lost, no wake-up is missed", arguments: policies)
    func delivery(_ buffering: Buffering) throws {
        try everySequence(of: [.enqueue, .end, .wake, .deliver, .flush, .close], length: 6) { steps in
            var pair = MachineAndModel(buffering, isDelivery: true)
            return steps.firstNonNil { pair.step($0) } ?? pair.atRest()
        }
    }

    @Test("P1 P2 P8 P12 An iterator's mailbox: no event is lost, no wake-up is missed", arguments: policies)
    func iterator(_ buffering: Buffering) throws {
        try everySequence(of: [.enqueue, .end, .wake, .next, .flush, .close], length: 6) { steps in
            var pair = MachineAndModel(buffering, isDelivery: false)
            return steps.firstNonNil { pair.step($0) } ?? pair.atRest()
        }
    }

    @Test("P1 An iterator that counts later: a taken event is pending until it is counted", arguments: policies)
    func countedLater(_ buffering: Buffering) throws {
        try everySequence(of: [.enqueue, .next, .count, .leaveOut, .wake, .flush, .close], length: 5) { steps in
            var pair = MachineAndModel(buffering, isDelivery: false, isCountedLater: true)
            return steps.firstNonNil { pair.step($0) } ?? pair.atRest()
        }
    }
}

private let policies: [Buffering] = [
    .unbounded, .latest, .droppingOldest(2), .droppingNewest(1), .droppingNewest(2),
]

private enum Step: CaseIterable {
    case enqueue, end, wake, deliver, next, count, leaveOut, flush, close
}

/// Runs `body` with every sequence of this length. If it returns a text, the test fails with this
/// text.
private func everySequence(of steps: [Step], length: Int, _ body: ([Step]) -> String?) throws {
    var sequence: [Step] = []
    func extend() throws {
        if sequence.count == length {
            if let failure = body(sequence) { throw Mistake("\(failure), after \(sequence)") }
            return
        }
        for step in steps {
            sequence.append(step)
            try extend()
            sequence.removeLast()
        }
    }
    try extend()
}

private struct Mistake: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension [Step] {
    fileprivate func firstNonNil(_ body: (Step) -> String?) -> String? {
        for step in self { if let found = body(step) { return found } }
        return nil
    }
}

/// The machine and the model. The model keeps numbers in arrays. Its only state of the consumer is
/// `isAwake`.
private struct MachineAndModel: ~Copyable {
    private var machine: Mailbox<Int>
    private var batch = RingBuffer<Int>()
    private let counter = DeliveryCounter()
    private let buffering: Buffering
    private let isDelivery: Bool
    private let isCountedLater: Bool

    // The model.
    private var waiting: [Int] = []
    private var (next, received, dropped, leftOut) = (0, 0, 0, 0)
    /// The numbers of events that the consumer has taken and not finished.
    private var held: [Int] = []
    private var (hasEnded, endIsTaken, isClosed) = (false, false, false)
    private var isUncounted = false
    /// Whether the consumer runs. If not, it must be woken for the next event.
    private var isAwake: Bool
    /// The flushes, each with the events for which it waits.
    private var flushes: [(flush: Flush, events: Set<Int>)] = []
    private var order: [Int] = []

    init(_ buffering: Buffering, isDelivery: Bool, isCountedLater: Bool = false) {
        (self.buffering, self.isDelivery, self.isCountedLater) = (buffering, isDelivery, isCountedLater)
        machine = Mailbox(buffering, counter, nil, isDelivery ? .parked : .idle)
        isAwake = !isDelivery
    }

    /// Takes one step in both, and returns the differences; nil if there are none.
    mutating func step(_ step: Step) -> String? {
        switch step {
        case .enqueue: enqueue()
        case .end:
            machine.enqueueEnd()
            hasEnded = true
        case .wake:
            let mustWake = !isAwake && !isClosed && (!waiting.isEmpty || hasEnded && !endIsTaken)
            if machine.wake() != mustWake { return "the wake-up is \(!mustWake)" }
            if mustWake { if let failure = wakeUp() { return failure } }
        case .deliver: if isAwake, let failure = deliver() { return failure }
        case .next: if isAwake, !isUncounted, let failure = ask() { return failure }
        case .count, .leaveOut: if isUncounted, let failure = count(isLeftOut: step == .leaveOut) { return failure }
        case .flush: if let failure = flush() { return failure }
        case .close: if let failure = close() { return failure }
        }
        return differs()
    }

    private mutating func enqueue() {
        machine.enqueue(next)
        guard !hasEnded, !isClosed else { return }
        defer { next += 1 }
        guard let capacity = buffering.capacity, waiting.count >= capacity else { return waiting.append(next) }
        dropped += 1
        if buffering.dropsNewest { return }
        finish(with: waiting.removeFirst())
        waiting.append(next)
    }

    /// Removes `event` from the events for which flushes wait.
    private mutating func finish(with event: Int) {
        for index in flushes.indices { flushes[index].events.remove(event) }
    }

    private mutating func wakeUp() -> String? {
        isAwake = true
        return isDelivery ? nil : take()
    }

    /// Delivers one event, or the end, or parks.
    private mutating func deliver() -> String? {
        if batch.isEmpty { machine.take(into: &batch) }
        let expected = batch.isEmpty ? nil : (held.isEmpty ? waiting.first : held.first)
        if held.isEmpty {
            held = buffering.capacity == nil ? waiting : Array(waiting.prefix(1))
            waiting.removeFirst(held.count)
        }
        if let event = batch.popFirst() {
            guard event == expected, !held.isEmpty else { return "delivered \(event) instead of \(expected as Int?)" }
            counter.countReceived()
            received += 1
            order.append(event)
            finish(with: held.removeFirst())
            return settle(machine.settle(pending: batch.count))
        }
        guard held.isEmpty else { return "\(held) is not delivered" }
        let mustEnd = hasEnded && !endIsTaken && !isClosed
        guard machine.takeEnd() == mustEnd else { return "the end is \(mustEnd ? "lost" : "repeated")" }
        if mustEnd {
            endIsTaken = true
            return nil
        }
        machine.park()
        isAwake = false
        return settle(machine.settle(pending: 0))
    }

    /// Makes the iterator ask for the next event.
    private mutating func ask() -> String? {
        for event in held { finish(with: event) }
        held = []
        if let failure = settle(machine.ask()) { return failure }
        return take()
    }

    private mutating func take() -> String? {
        switch machine.take(isCountedLater: isCountedLater) {
        case .some(let event?):
            guard !waiting.isEmpty, event == waiting.removeFirst() else { return "took \(event)" }
            held = [event]
            order.append(event)
            if isCountedLater { isUncounted = true } else { received += 1 }
        case .some(nil):
            guard waiting.isEmpty, hasEnded || isClosed else { return "an end that is none" }
            endIsTaken = endIsTaken || !isClosed
        case nil:
            guard waiting.isEmpty, !hasEnded, !isClosed else { return "nothing, though there is something" }
            machine.park()
            isAwake = false
        }
        return nil
    }

    private mutating func count(isLeftOut: Bool) -> String? {
        if isLeftOut { leftOut += 1 } else { received += 1 }
        isUncounted = false
        let settled = machine.count(isLeftOut: isLeftOut, isDropped: false)
        if isClosed {
            for event in held { finish(with: event) }
            held = []
        }
        return settle(settled)
    }

    private mutating func flush() -> String? {
        let events = Set(waiting + (isClosed && !isUncounted ? [] : held))
        let flush = Flush()
        let isBusy = isDelivery && isAwake && !isClosed
        let result = machine.flushes.add(flush, until: machine.flushTarget)
        // A delivery that runs is waited for, even if it has nothing more to deliver.
        if result == nil { flushes.append((flush, events)) }
        if (result == nil) != (!events.isEmpty || isBusy) { return "a flush of \(events) is \(result as Bool?)" }
        return nil
    }

    private mutating func close() -> String? {
        var rest = RingBuffer<Int>()
        if isClosed {
            let closed = machine.close(&rest)
            return !isDelivery && closed.wakes ? "a task is resumed twice" : settle(closed.settled)
        }
        isClosed = true
        dropped += waiting.count + batch.count
        counter.countDropped(batch.count)
        for event in waiting { finish(with: event) }
        if isDelivery {
            for event in held { finish(with: event) }
            held = []
        } else if !isUncounted {
            for event in held { finish(with: event) }
        }
        (waiting, batch) = ([], RingBuffer())
        let closed = machine.close(&rest)
        if !isDelivery, closed.wakes == isAwake { return "a parked task is \(closed.wakes ? "" : "not ")resumed" }
        if !isDelivery { isAwake = true }
        return settle(closed.settled)
    }

    /// Removes the flushes that the machine has returned. None of them may wait for an event.
    private mutating func settle(_ settled: [Flush]) -> String? {
        for flush in settled {
            guard let index = flushes.firstIndex(where: { $0.flush === flush }) else { return "an unknown flush" }
            if !flushes[index].events.isEmpty { return "a flush is over before \(flushes[index].events)" }
            flushes.remove(at: index)
        }
        return nil
    }

    private func differs() -> String? {
        let counts = counter.counts
        if counts != DeliveryCounts(sent: UInt64(next - leftOut), received: UInt64(received), dropped: UInt64(dropped))
        {
            return "the counts are \(counts)"
        }
        let pending = waiting.count + (isDelivery ? held.count : isUncounted ? 1 : 0)
        if counts.pending != UInt64(pending) { return "\(counts.pending) events are pending, not \(pending)" }
        if order != order.sorted() { return "the order is \(order)" }
        return nil
    }

    /// Lets the consumer finish. Checks that then no event waits, and all flushes are over.
    mutating func atRest() -> String? {
        if isUncounted, let failure = count(isLeftOut: false) { return failure }
        for _ in 0..<20 {
            if let failure = step(.wake) { return failure }
            if isDelivery {
                if let failure = step(.deliver) { return failure }
            } else if isAwake {
                if endIsTaken || isClosed { break }
                if let failure = step(.next) { return failure }
                if isUncounted, let failure = count(isLeftOut: false) { return failure }
            }
        }
        if !waiting.isEmpty { return "\(waiting) is left" }
        if !isDelivery, !isClosed, let failure = endIsTaken ? settle(machine.ask()) : nil { return failure }
        return flushes.isEmpty ? nil : "\(flushes.count) flushes wait for ever"
    }
}
