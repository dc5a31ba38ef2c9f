// SPDX-License-Identifier: Apache-2.0

/// The change that a binding makes from a change of a commit, with the types of its value and of
/// its claim.
internal final class BoundChange<Value: Sendable, Claim: BindingClaim>: CarriedChange {
    private let property: Observed<Value>
    private let value: Value
    private let claim: Claim
    private let edge: Edge
    private let arrival: Arrival

    init(
        _ value: Value,
        for property: Observed<Value>,
        by observer: Observer,
        through edge: Edge,
        from arrival: Arrival,
        if claim: Claim
    ) {
        (self.property, self.value, self.claim, self.edge, self.arrival) = (property, value, claim, edge, arrival)
        super.init(observer)
    }

    override var destination: any CommitMember { property }
    override var lockAddress: UInt { property.cell.source }
    override var isOfPair: Bool { Claim.isOfPair }
    override var goesBack: Bool { claim.goesBack }

    override func decideTogether(_ body: () -> Void) { Agreements.decideTogether(body) }

    override func draft(in transaction: borrowing Transaction) -> Bool {
        guard claim.holds(at: property.cell.version) else { return false }
        transaction[property] = value
        return true
    }

    override func propagate(_ version: UInt64, _ body: () -> Void) {
        arrival.propagate(through: edge, to: property.observers.identity, version: version, body)
    }
}
