// SPDX-License-Identifier: Apache-2.0

extension Worker {
    /// Ends observations of sources that no other thread uses, so that it is known exactly which
    /// ones are left. (P8)
    func checkEnds() {
        let delivery: Delivery = generator.oneIn(2) ? .inline : .serial()
        begin("count a group at its members")
        checkMembers(delivery)
        begin("end a group by its owner")
        checkOwners(delivery)
        begin("cancel in a comparison")
        checkComparison(delivery)
    }

    /// Checks that a group with the same property twice counts as one observation of it. (P8)
    private func checkMembers(_ delivery: Delivery) {
        let (first, second) = (Observed<UInt64>(0), Observed<UInt64>(0))
        let token = Group(Group(first, second), first, first).observe(delivery: delivery) { _ in }
        let counts = [first.observationCount, second.observationCount]
        check(counts == [1, 1], "P8.members-count-once", "the members of one group count \(counts) observations")
        token.cancel()
    }

    /// Checks that ending an owner's observations at a property also ends the owner's observations
    /// of groups with that property. (P8)
    private func checkOwners(_ delivery: Delivery) {
        final class Owner: Sendable {}
        let (first, second) = (Observed<UInt64>(0), Observed<UInt64>(0))
        let owners = (Owner(), Owner())
        let tokens = [owners.0, owners.1].map { owner in
            Group(first, second).observe(owner: owner, delivery: delivery) { _, _ in }
        }
        first.cancelAllObservations(ownedBy: owners.0)
        let active = tokens.map(\.isActive)
        let areRight = active == [false, true] && second.observationCount == 1
        check(areRight, "P8.ends-with-its-owners", "after the first owner's removal the groups are active: \(active)")
        withExtendedLifetime((owners, tokens)) {}
    }

    /// Checks that the closure is not called after a comparison that cancels its own observation.
    /// (P8)
    private func checkComparison(_ delivery: Delivery) {
        let property = Observed(Comparison(atComparison: {}))
        let (calls, kept) = (Tally(), Guarded<ObservationToken?>(nil))
        let token = property.removingDuplicates().observe(delivery: delivery) { _ in calls.increment() }
        kept.withLock { $0 = token }
        property.value = Comparison { kept.withLock { $0 }?.cancel() }
        let count = calls.value
        check(count == 0, "P8.silent-after-comparison", "\(count) calls after a comparison that has cancelled")
        kept.withLock { $0 = nil }
    }
}

/// A value that is equal to no other. It runs a closure when it is compared.
private struct Comparison: Equatable, Sendable {
    let atComparison: @Sendable () -> Void

    static func == (left: Comparison, right: Comparison) -> Bool {
        right.atComparison()
        return false
    }
}
