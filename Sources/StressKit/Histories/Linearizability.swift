// SPDX-License-Identifier: Apache-2.0

/// Decides whether a history has a sequential order that explains every result and respects real
/// time.
///
/// It is the search of Wing and Gong ("Testing and verifying concurrent objects", 1993) with the
/// memory of Lowe ("Testing for linearizability", 2017): if a set of operations has led to the same
/// state before, it is not tried again. Callers first split a history by object. This is correct,
/// because linearizability is compositional (Herlihy and Wing, 1990).
package enum Linearizability<Specification: SequentialSpecification> {
    package typealias History = [Interval<Specification.Operation>]

    /// The largest number of operations in one history: a mask of one word has a bit for each.
    package static var mostOperations: Int { UInt64.bitWidth }

    /// Returns whether the history is linearizable.
    ///
    /// - Complexity: Exponential in the number of operations that overlap; linear for a sequential
    ///   history.
    package static func holds(_ history: History) -> Bool {
        precondition(history.count <= mostOperations, "a history has at most \(mostOperations) operations")
        let sorted = history.sorted { $0.start < $1.start }
        let all: UInt64 = sorted.isEmpty ? 0 : .max >> UInt64(UInt64.bitWidth - sorted.count)
        var refuted: Set<Configuration> = []
        return extends(Configuration(remaining: all, state: Specification.initial), sorted, &refuted)
    }

    private struct Configuration: Hashable {
        /// The operations that have not taken effect: one bit for each.
        var remaining: UInt64
        var state: Specification.State
    }

    /// Returns whether an order of the remaining operations explains their results.
    private static func extends(
        _ configuration: Configuration,
        _ sorted: History,
        _ refuted: inout Set<Configuration>
    ) -> Bool {
        if configuration.remaining == 0 { return true }
        // An operation can be next only if no other remaining operation had returned before its
        // call.
        var firstReturn = UInt64.max
        var remaining = configuration.remaining
        while remaining != 0 {
            firstReturn = min(firstReturn, sorted[remaining.trailingZeroBitCount].end)
            remaining &= remaining - 1
        }
        remaining = configuration.remaining
        while remaining != 0 {
            let index = remaining.trailingZeroBitCount
            // The operations are sorted by their calls, so no later one can be next either.
            if sorted[index].start > firstReturn { break }
            remaining &= remaining - 1
            guard
                let state = Specification.state(after: sorted[index].operation, in: configuration.state)
            else { continue }
            let next = Configuration(remaining: configuration.remaining & ~(1 << UInt64(index)), state: state)
            if !refuted.contains(next), extends(next, sorted, &refuted) { return true }
        }
        refuted.insert(configuration)
        return false
    }

    /// Returns a small part of the history that is not linearizable either.
    ///
    /// It keeps the operations that were called before the first return which makes the history
    /// impossible. Then it leaves out observations. Neither step makes a linearizable history look
    /// broken.
    package static func witness(of history: History) -> History {
        precondition(!holds(history), "a witness is of a history that is not linearizable")
        var witness = history
        for end in history.map(\.end).sorted() {
            let prefix = history.filter { $0.start <= end }.filter {
                // An observation that had not returned by then can be left out. A change may have
                // taken effect.
                $0.end <= end || !Specification.isObservation($0.operation)
            }
            if !holds(prefix) {
                witness = prefix
                break
            }
        }
        for index in witness.indices.reversed() where Specification.isObservation(witness[index].operation) {
            var shorter = witness
            shorter.remove(at: index)
            if !holds(shorter) { witness = shorter }
        }
        return witness
    }
}
