// SPDX-License-Identifier: Apache-2.0

/// The agreements of all bound pairs: however often a pair is bound, and from whichever ends, it
/// has one, which goes with the last binding.
@usableFromInline
internal final class Agreements: @unchecked Sendable {
    // Unchecked: `entries` is guarded by `lock`.
    private static let shared = Agreements()

    /// Two properties in either order, by what they share with their observers.
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

    /// No thread holds it while the process forks. (P18)
    private let lock = SourceLock()
    private var entries: [Pair: Entry] = [:]

    /// Held while the claims of a carried commit are decided, inside the locks of its destinations: of two commits that meet on several
    /// pairs, one prevails on all. Those of the agreements are taken inside. No thread holds it while the process forks. (P18)
    private let decision = SourceLock()

    private init() {}

    /// Counts a binding of two properties. Returns their agreement, and which side `left` is. Under
    /// no lock.
    ///
    /// - Parameter keepsValue: Whether the binding makes no other values.
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

    /// The agreement that the pair has already, or else this one.
    private static func shared(_ fresh: Agreement) -> Agreement {
        var agreement = fresh
        withEntries { entries in
            if let present = entries[fresh.pair]?.agreement {
                agreement = present
                entries[fresh.pair]!.bindings += 1
            } else {
                entries[fresh.pair] = Entry(agreement: fresh, bindings: 1)
                guard entries.count == 1 else { return }
                // Once more, so that the runtime makes what `leave` asks it for: a forked child may
                // be the first to end a binding. (P18)
                remove(fresh.pair, from: &entries)
                entries[fresh.pair] = Entry(agreement: fresh, bindings: 1)
            }
        }
        return agreement
    }

    /// Runs `body`, which decides claims of several pairs, while no other thread does. Under the destinations' locks.
    static func decideTogether(_ body: () -> Void) {
        shared.decision.withLock(body)
    }

    /// Counts one binding less. The caller holds the agreement, of which no last reference is
    /// released under the lock.
    static func leave(_ agreement: Agreement) {
        withEntries { entries in
            guard let entry = entries[agreement.pair], entry.agreement === agreement else { return }
            if entry.bindings > 1 {
                entries[agreement.pair]!.bindings -= 1
            } else {
                remove(agreement.pair, from: &entries)
            }
        }
    }

    private static func remove(_ pair: Pair, from entries: inout [Pair: Entry]) { entries[pair] = nil }

    private static func withEntries(_ body: (inout [Pair: Entry]) -> Void) {
        // Behind the gate: a thread that a fork catches in the middle of the first use would leave
        // `shared` half made in the child.
        ForkGate.pass { shared.lock.withLock { body(&shared.entries) } }
    }
}
