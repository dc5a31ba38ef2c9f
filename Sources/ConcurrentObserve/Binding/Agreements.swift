// SPDX-License-Identifier: Apache-2.0

/// The agreements of all bound pairs: however often a pair is bound, and from whichever ends, it
/// has one.
///
/// Agreements are not retained: one goes with the last binding of its pair.
@usableFromInline
internal final class Agreements: @unchecked Sendable {
    // Unchecked: `entries` is guarded by `lock`.
    private static let shared = Agreements()

    /// Two properties, by their addresses, in either order.
    struct Pair: Hashable {
        private let low: ObjectIdentifier
        private let high: ObjectIdentifier

        init(_ one: AnyObject, _ other: AnyObject) {
            let (one, other) = (ObjectIdentifier(one), ObjectIdentifier(other))
            (low, high) = one < other ? (one, other) : (other, one)
        }
    }

    private struct Entry {
        /// Compared, not followed: a weak reference may be the last when it is loaded.
        let identity: ObjectIdentifier
        weak let agreement: Agreement?
    }

    /// No thread holds it while the process forks. (P18)
    private let lock = SourceLock()
    private var entries: [Pair: Entry] = [:]

    private init() {}

    /// The agreement of two properties, which is made on first use, and which side of it `property`
    /// is. Under no lock.
    ///
    /// - Complexity: O(1) on average.
    @usableFromInline
    static func agreement(of property: AnyObject, with other: AnyObject) -> (Agreement, Agreement.Side) {
        let fresh = Agreement(between: property, and: other)
        if mutant("each binding of a pair agrees for itself") { return (fresh, .first) }
        // Before the return no reference of an agreement is released: the last one would take the
        // lock again.
        let (found, side) = withEntries { entries -> (Agreement?, Agreement.Side?) in
            let found = entries[fresh.pair]?.agreement
            if let side = found?.side(of: property, with: other) { return (found, side) }
            entries[fresh.pair] = Entry(identity: ObjectIdentifier(fresh), agreement: fresh)
            return (found, nil)
        }
        guard let found, let side else { return (fresh, .first) }
        return (found, side)
    }

    /// Forgets an agreement that is being deinitialised, unless another one has taken its place.
    static func remove(_ agreement: Agreement) {
        let (pair, identity) = (agreement.pair, ObjectIdentifier(agreement))
        withEntries { entries in
            if entries[pair]?.identity == identity { entries[pair] = nil }
        }
    }

    private static func withEntries<Result>(_ body: (inout [Pair: Entry]) -> Result) -> Result {
        // Behind the gate: a thread that a fork catches in the middle of the first use would leave
        // `shared` half made in the child.
        ForkGate.pass { shared.lock.withLock { body(&shared.entries) } }
    }
}
