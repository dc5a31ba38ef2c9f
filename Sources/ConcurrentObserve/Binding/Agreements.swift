// SPDX-License-Identifier: Apache-2.0

/// The agreements of all bound pairs. A pair has one agreement, however often it is bound, and from
/// either side. The agreement is removed with the pair's last binding.
@usableFromInline
internal final class Agreements: @unchecked Sendable {
    // Unchecked: `entries` is guarded by `lock`.
    private static let shared = Agreements()

    /// Two properties in either order, identified by their cores.
    struct Pair: Hashable {
        private let low: ObjectIdentifier
        private let high: ObjectIdentifier

        init(_ one: RegistryCore, _ other: RegistryCore) {
            let (one, other) = (ObjectIdentifier(one), ObjectIdentifier(other))
            (low, high) = one < other ? (one, other) : (other, one)
        }
    }

    private struct Entry {
        let agreement: Agreement
        var bindings: Int
    }

    private let lock = SourceLock()
    private var entries: [Pair: Entry] = [:]

    private init() {}

    /// Counts a binding of two properties. Returns their agreement, and which side `left` is. The
    /// caller must hold no lock.
    ///
    /// - Parameter keepsValue: Whether the binding passes values on unchanged.
    /// - Complexity: O(1) on average.
    @usableFromInline
    static func join<Left, Right>(
        _ left: Observed<Left>,
        _ right: Observed<Right>,
        keepsValue: Bool
    ) -> (Agreement, Agreement.Side) {
        let core = left.observers.core()
        let agreement = shared(Agreement(between: core, and: right.observers.core()))
        if !keepsValue { agreement.noteTransforms() }
        return (agreement, agreement.side(of: core))
    }

    /// Counts a binding of the pair of `fresh`. Returns the agreement that the pair already has, or
    /// else adds and returns `fresh`.
    private static func shared(_ fresh: Agreement) -> Agreement {
        var agreement = fresh
        withEntries { entries in
            if let present = entries[fresh.pair]?.agreement {
                agreement = present
                entries[fresh.pair]!.bindings += 1
            } else {
                entries[fresh.pair] = Entry(agreement: fresh, bindings: 1)
            }
        }
        return agreement
    }

    /// Counts that a binding has ended. The pair's last binding removes the agreement. The caller
    /// retains the agreement, so its last reference is not released under the lock.
    static func leave(_ agreement: Agreement) {
        withEntries { entries in
            guard let entry = entries[agreement.pair], entry.agreement === agreement else { return }
            if entry.bindings > 1 {
                entries[agreement.pair]!.bindings -= 1
            } else {
                entries[agreement.pair] = nil
            }
        }
    }

    private static func withEntries(_ body: (inout [Pair: Entry]) -> Void) {
        shared.lock.withLock { body(&shared.entries) }
    }
}
