// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

extension Change {
    /// The change in one line: its reason, old and new value, and version. "-" stands for a missing
    /// old value.
    var line: String { "\(reason) \(old.map { "\($0)" } ?? "-") → \(new) @\(version)" }
}

/// The changes that an observer received, and the end, in the order of their arrival on any
/// threads.
final class ReceivedChanges<Value: Sendable>: EndRecorder {
    private enum Entry: Sendable {
        case change(Change<Value>)
        case end(ObservationEnd)
    }

    private let log = Log<Entry>()
    let ended = Signal("the end of an observation")

    var changes: [Change<Value>] {
        log.entries.compactMap { if case .change(let change) = $0 { change } else { nil } }
    }
    var count: Int { changes.count }

    var ends: [ObservationEnd] {
        log.entries.compactMap { if case .end(let end) = $0 { end } else { nil } }
    }

    /// The changes as lines, and the ends by their names, in the order of their arrival.
    var lines: [String] {
        log.entries.map { entry in
            switch entry {
            case .change(let change): change.line
            case .end(let end): "\(end)"
            }
        }
    }

    /// The versions of the changes in order, without initial and prior deliveries.
    var versions: [UInt64] { changes.filter { $0.reason == .valueChanged }.map(\.version).sorted() }

    func append(_ change: Change<Value>) { log.append(.change(change)) }

    func append(_ end: ObservationEnd) {
        log.append(.end(end))
        ended.happen()
    }
}

/// Records the ends of observations, in order with the changes before them.
protocol EndRecorder: Sendable {
    /// Happens when the first end is recorded.
    var ended: Signal { get }

    func append(_ end: ObservationEnd)
}

extension ObservationToken {
    /// Records the end of the observation in `received`, too.
    @discardableResult
    func recordEnd(to received: some EndRecorder) -> ObservationToken { onEnd { received.append($0) } }
}

extension ObservableProperty {
    /// Observes, and records every change in `received`.
    func observe(_ received: ReceivedChanges<Value>, options: ObservationOptions = []) -> ObservationToken {
        observe(options: options) { (change: Change<Value>) in received.append(change) }
    }
}
