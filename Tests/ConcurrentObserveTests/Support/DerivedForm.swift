// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch

/// The ways to observe a source with a number.
enum DerivedForm: String, CaseIterable, Sendable {
    case token, serial, queue, actor, owner, withHandle = "with its handle", values, changes, lateIterator =
        "a late iterator"
    case binding, group, list, nestedGroup = "a group in a list"

    private actor Target {}

    /// A running observation, and the objects that keep it running.
    struct Going: Sendable {
        /// The token; nil for a sequence.
        let token: ObservationToken?
        let task: Task<Void, Never>?
        let kept: [any Sendable]

        func end() {
            token?.cancel()
            task?.cancel()
        }
    }

    /// Begins to observe. `received` gets the numbers that come after the return, and the end.
    func begin(_ property: some ObservableProperty<Int>, _ received: ReceivedNumbers) -> Going {
        func going(_ token: ObservationToken, _ kept: any Sendable...) -> Going {
            token.onEnd { received.append($0) }
            return Going(token: token, task: nil, kept: kept)
        }
        func iterating(_ iterate: @escaping @Sendable () async -> Void) -> Going {
            let task = Task {
                await iterate()
                if !Task.isCancelled { received.append(.sourceDeleted) }
            }
            return Going(token: nil, task: task, kept: [])
        }
        switch self {
        case .token: return going(property.observe { received.append($0.new) })
        case .serial: return going(property.observe(delivery: .serial()) { received.append($0.new) })
        case .queue:
            let queue = DispatchQueue(label: "a delivery")
            return going(property.observe(delivery: .queue(queue)) { received.append($0.new) })
        case .actor:
            let target = Target()
            return going(property.observe(on: target) { _, change in received.append(change.new) }, target)
        case .owner:
            let owner = Counter()
            return going(property.observe(owner: owner) { _, change in received.append(change.new) }, owner)
        case .withHandle: return going(property.observe { change, _ in received.append(change.new) })
        case .values:
            let iterator = SendableIterator(property.values().makeAsyncIterator())
            return iterating { while let number = await iterator.next() { received.append(number) } }
        case .changes:
            let iterator = SendableIterator(property.changes().makeAsyncIterator())
            return iterating { while let change = await iterator.next() { received.append(change.new) } }
        case .lateIterator:
            let sequence = property.values(options: .initial)
            return iterating { for await number in sequence { received.append(number) } }
        case .binding:
            let destination = Observed(-1)
            return going(
                property.bind(to: destination),
                destination,
                destination.observe { received.append($0.new) }
            )
        case .group:
            let other = Observed(0)
            return going(Group(other, property).observe { received.append($0.new.1) }, other)
        case .list: return going(PropertyList([property, property]).observe { received.append($0.new[1]) })
        case .nestedGroup:
            let other = Observed(0)
            return going(PropertyList([Group(other, property)]).observe { received.append($0.new[0].1) }, other)
        }
    }
}

/// An iterator that a test passes to a task.
private final class SendableIterator<Element: Sendable>: @unchecked Sendable {
    // Unchecked: the test hands it over once.
    private var iterator: ObservationSequence<Element>.AsyncIterator

    init(_ iterator: ObservationSequence<Element>.AsyncIterator) { self.iterator = iterator }

    func next() async -> Element? { await iterator.next(isolation: nil) }
}

/// The received numbers, and the end.
final class ReceivedNumbers: EndRecorder {
    private let numbers = Log<Int>()
    private let endings = Log<ObservationEnd>()
    let ended = Signal("the end of an observation")

    func append(_ number: Int) { numbers.append(number) }

    func append(_ end: ObservationEnd) {
        endings.append(end)
        ended.happen()
    }

    /// Returns whether a number has come. Callbacks on several threads may run in any order.
    func has(_ number: Int) -> Bool { numbers.entries.contains(number) }

    var last: Int? { numbers.entries.last }
    var ends: [ObservationEnd] { endings.entries }
}
