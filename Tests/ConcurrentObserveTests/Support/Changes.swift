// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

extension Change {
    /// The change in one line: its reason, old and new value, version. "-" stands for what the observer was not told.
    var line: String {
        let (old, new) = (old.map { "\($0)" } ?? "-", new.map { "\($0)" } ?? "-")
        return "\(isPrior ? "prior" : "\(reason)") \(old) → \(new) @\(version)"
    }
}

/// What one observer of a property was told, on any threads.
final class Told<Value: Sendable>: Sendable {
    private let log = Log<Change<Value>>()

    var changes: [Change<Value>] { log.entries }
    var count: Int { log.count }

    /// The changes as lines, in the order of their arrival.
    var lines: [String] { changes.map(\.line) }

    /// The versions of the changes themselves, in order: no initial delivery, no prior one, no end.
    var versions: [UInt64] {
        changes.filter { $0.reason == .valueChanged && !$0.isPrior }.map(\.version).sorted()
    }

    func append(_ change: Change<Value>) { log.append(change) }
}

extension Observed {
    /// Observes with everything written down in `told`.
    func observe(_ told: Told<Value>, options: ObservationOptions = [.old, .new]) -> ObservationToken {
        observe(options: options) { (change: Change<Value>) in told.append(change) }
    }
}
