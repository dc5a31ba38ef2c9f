// SPDX-License-Identifier: Apache-2.0

/// A relation between the events of one execution: a row of bits for each event. There are at most
/// 64 events.
struct Relation {
    typealias Members = UInt64
    var rows: [Members]

    init(_ count: Int) { rows = Array(repeating: 0, count: count) }

    /// The pairs for which `holds`.
    init(_ count: Int, _ holds: (Int, Int) -> Bool) {
        self.init(count)
        for a in 0..<count { for b in 0..<count where holds(a, b) { insert(a, b) } }
    }

    /// The identity on `members`.
    init(_ count: Int, identityOn members: Members) {
        self.init(count)
        for a in 0..<count { rows[a] = members & (1 << UInt64(a)) }
    }

    mutating func insert(_ a: Int, _ b: Int) { rows[a] |= 1 << UInt64(b) }
    func contains(_ a: Int, _ b: Int) -> Bool { rows[a] & (1 << UInt64(b)) != 0 }
    var isEmpty: Bool { rows.allSatisfy { $0 == 0 } }

    static func | (a: Relation, b: Relation) -> Relation {
        var result = a
        for index in a.rows.indices { result.rows[index] |= b.rows[index] }
        return result
    }

    static func & (a: Relation, b: Relation) -> Relation {
        var result = a
        for index in a.rows.indices { result.rows[index] &= b.rows[index] }
        return result
    }

    static func - (a: Relation, b: Relation) -> Relation {
        var result = a
        for index in a.rows.indices { result.rows[index] &= ~b.rows[index] }
        return result
    }

    /// One after the other: `a ; b`.
    static func * (a: Relation, b: Relation) -> Relation {
        var result = Relation(a.rows.count)
        for index in a.rows.indices {
            var row = a.rows[index]
            while row != 0 {
                result.rows[index] |= b.rows[row.trailingZeroBitCount]
                row &= row - 1
            }
        }
        return result
    }

    /// The pairs from a member of `from` to a member of `to`.
    func from(_ from: Members = .max, to: Members = .max) -> Relation {
        var result = self
        for index in rows.indices { result.rows[index] &= from & (1 << UInt64(index)) == 0 ? 0 : to }
        return result
    }

    var inverse: Relation {
        var result = Relation(rows.count)
        for a in rows.indices {
            var row = rows[a]
            while row != 0 {
                result.insert(row.trailingZeroBitCount, a)
                row &= row - 1
            }
        }
        return result
    }

    var transitiveClosure: Relation {
        var result = self
        for middle in rows.indices {
            let bit: Members = 1 << UInt64(middle)
            let reached = result.rows[middle]
            for index in rows.indices where result.rows[index] & bit != 0 { result.rows[index] |= reached }
        }
        return result
    }

    /// The relation and the identity.
    var reflexive: Relation { self | Relation(rows.count, identityOn: .max) }
    var isIrreflexive: Bool { rows.indices.allSatisfy { rows[$0] & (1 << UInt64($0)) == 0 } }
    var isAcyclic: Bool { transitiveClosure.isIrreflexive }
}
