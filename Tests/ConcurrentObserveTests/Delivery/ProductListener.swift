// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

/// The way in which an observer receives its events, which decides where they wait.
enum ProductDelivery: CaseIterable, Sendable {
    case inline, serial, queue, actor, changes, values

    /// Whether the first events, including the initial value, can wait.
    var holdsInitial: Bool { self != .inline && self != .serial }

    var isSequence: Bool { self == .changes || self == .values }
}

/// Records the events that an observer receives, in the tests of the product of policies.
final class ProductListener: Sendable {
    private let log = Log<String>()
    private let ends = Counter()
    fileprivate let queue = DispatchQueue(label: "a product")
    fileprivate let actor = Listener()
    private let held = Slot<(entered: Signal, exit: Signal)>()

    var received: [String] { log.entries }
    var endCount: Int { ends.value }

    func receive(_ line: String) {
        log.append(line)
        guard !line.hasPrefix("prior"), let held = held.take() else { return }
        held.entered.happen()
        held.exit.hold()
    }

    func receiveEnd() { ends.increment() }

    /// Holds the next callback of a change.
    func holdNext(_ entered: Signal, _ exit: Signal) { held.put((entered, exit)) }

    /// Waits until a running delivery has returned, then holds back deliveries until `resume`.
    func suspend(_ delivery: ProductDelivery) async {
        if delivery == .queue {
            await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
            queue.suspend()
        }
        if delivery == .actor {
            await actor.pass()
            actor.suspend()
        }
    }

    func resume(_ delivery: ProductDelivery) {
        if delivery == .queue { queue.resume() }
        if delivery == .actor { actor.resume() }
    }
}

extension Listener {
    fileprivate func pass() {}
}

/// An observation by a token or an iterator, in the tests of the product of policies.
protocol ProductAttachment {
    var counts: DeliveryCounts? { get }

    func flush() async

    /// Releases the reference that keeps the property alive.
    func release()

    /// Takes one element if the observer is an iterator.
    func pull(_ listener: ProductListener) async
}

private final class ProductToken: ProductAttachment {
    private let token: ObservationToken
    /// The property that keeps a derived value alive.
    private var property: Any?

    init(_ token: ObservationToken, keeping property: Any) { (self.token, self.property) = (token, property) }

    var counts: DeliveryCounts? { token.deliveryCounts }

    func flush() async { await token.flush() }

    func release() { property = nil }

    func pull(_ listener: ProductListener) async {}
}

private final class ProductIterator<Element: Sendable>: ProductAttachment {
    private var iterator: ObservationSequence<Element>.AsyncIterator
    private let line: (Element) -> String
    private var property: Any?

    init(_ sequence: ObservationSequence<Element>, keeping property: Any, _ line: @escaping (Element) -> String) {
        (iterator, self.property, self.line) = (sequence.makeAsyncIterator(), property, line)
    }

    var counts: DeliveryCounts? { iterator.deliveryCounts }

    func flush() async {}

    func release() { property = nil }

    func pull(_ listener: ProductListener) async {
        if let element = await iterator.next() { listener.receive(line(element)) } else { listener.receiveEnd() }
    }
}

/// Begins an observation of any property.
struct ProductBeginning {
    let options: ObservationOptions
    let buffering: Buffering
    let delivery: ProductDelivery
    let listener: ProductListener

    func begin<Property: ObservableProperty>(
        _ property: Property,
        _ number: @escaping @Sendable (Property.Value) -> Int
    ) -> any ProductAttachment {
        let line: @Sendable (Change<Property.Value>) -> String = { change in
            "\(change.reason) \(change.old.map { "\(number($0))" } ?? "-") → \(number(change.new)) @\(change.version)"
        }
        switch delivery {
        case .inline: return observe(property, .inline, line)
        case .serial: return observe(property, .serial(buffering: buffering), line)
        case .queue: return observe(property, .queue(listener.queue, buffering: buffering), line)
        case .actor:
            let token = property.observe(on: listener.actor, options: options, buffering: buffering) {
                [listener] _, change in listener.receive(line(change))
            }
            return attached(token, property)
        case .changes:
            return ProductIterator(property.changes(options: options, buffering: buffering), keeping: property, line)
        case .values:
            let values = property.values(options: options, buffering: buffering)
            return ProductIterator(values, keeping: property) { "\(number($0))" }
        }
    }

    private func observe<Property: ObservableProperty>(
        _ property: Property,
        _ delivery: Delivery,
        _ line: @escaping @Sendable (Change<Property.Value>) -> String
    ) -> any ProductAttachment {
        let token = property.observe(options: options, delivery: delivery) { [listener] change in
            listener.receive(line(change))
        }
        return attached(token, property)
    }

    private func attached(_ token: ObservationToken, _ property: Any) -> any ProductAttachment {
        token.onEnd { [listener] _ in listener.receiveEnd() }
        return ProductToken(token, keeping: property)
    }
}
