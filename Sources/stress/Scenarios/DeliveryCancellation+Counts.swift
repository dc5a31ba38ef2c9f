// SPDX-License-Identifier: Apache-2.0

extension Worker {
    /// Sometimes observes sources that no other thread uses, so that the exact counts are known.
    /// (P1, P8)
    func checkCounts() {
        guard generator.oneIn(4) else { return }
        begin("count observations")
        checkObservationCounts()
        begin("count events")
        checkDeliveryCounts()
        checkEnds()
    }

    /// Checks that an observation counts until it ends, not until its closure is destroyed. (P8)
    private func checkObservationCounts() {
        let registry = ObserverRegistry<UInt64>()
        let (first, second) = (Observed<UInt64>(0), Observed<UInt64>(0))
        let tokens = [
            registry.observe(delivery: .serial()) { _ in }, Group(first, second).observe(delivery: .serial()) { _ in },
        ]
        let counts = { [registry.observationCount, first.observationCount, second.observationCount] }
        let begun = counts()
        for token in tokens { token.cancel() }
        let ended = counts()
        let areRight = begun == [1, 1, 1] && ended == [0, 0, 0]
        check(areRight, "P8.counted-until-the-end", "a registry and a group's members count \(begun), then \(ended)")
    }

    /// Checks that an event counts as received if the closure is called with it, and that a change
    /// that is left out is not counted. (P1)
    private func checkDeliveryCounts() {
        let (property, calls) = (Observed<UInt64>(0), Tally())
        let token = property.removingDuplicates().observe(delivery: .serial()) { _ in calls.increment() }
        // Only this thread sets the property, so it delivers each change before the setter returns.
        for _ in 0..<3 { property.value = 1 }
        let counts = token.deliveryCounts!
        let areRight = counts.sent == 1 && counts.received == calls.value && counts.pending == 0
        check(areRight, "P1.received-if-called", "\(counts) of one change, two left out, in \(calls.value) calls")
        token.cancel()
    }
}
