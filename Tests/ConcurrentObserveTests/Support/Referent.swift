// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// The referent of weak properties under test. It has a name, and may report its end.
final class Referent: WeaklyObservable, CustomStringConvertible {
    let description: String
    let lifetime = ReferentLifetime()
    private let atDeinit: (@Sendable (Referent) -> Void)?
    private let life: Life?

    /// Makes a referent.
    ///
    /// - Parameters:
    ///   - life: Dies after the object's lifetime has ended.
    ///   - atDeinit: Runs in the object's `deinit`.
    init(_ name: String, life: Life? = nil, atDeinit: (@Sendable (Referent) -> Void)? = nil) {
        description = name
        self.life = life
        self.atDeinit = atDeinit
    }

    deinit { atDeinit?(self) }
}

/// The changes that an observer of a weak property received, as lines. They do not retain the
/// referents.
final class ReceivedReferents: EndRecorder {
    private let log = Log<String>()
    let ended = Signal("the end of a weak property's observation")

    /// The lines in the order of their arrival. "-" stands for a missing old value, and an end is
    /// its name.
    var lines: [String] { log.entries }
    var count: Int { log.count }

    /// The version of each change, and the object to which the property refers from then on, by
    /// version.
    var versions: [(version: UInt64, new: String)] {
        lines.filter { $0.hasPrefix("valueChanged") }.map { line in
            let parts = line.split(separator: " ")
            return (UInt64(parts[4].dropFirst())!, String(parts[3]))
        }.sorted { $0.version < $1.version }
    }

    func append(_ change: Change<Referent?>) {
        let old = change.old.map(Self.name) ?? "-"
        log.append("\(change.reason) \(old) → \(Self.name(change.new)) @\(change.version)")
    }

    func append(_ end: ObservationEnd) {
        log.append("\(end)")
        ended.happen()
    }

    private static func name(_ referent: Referent?) -> String { referent?.description ?? "nil" }
}

extension WeakObserved<Referent> {
    /// Observes, and records every change in `received`.
    func observe(_ received: ReceivedReferents, options: ObservationOptions = []) -> ObservationToken {
        observe(options: options) { (change: Change<Referent?>) in received.append(change) }
    }
}
