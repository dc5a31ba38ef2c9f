// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
extension DeliveryIsolation {
    @usableFromInline
    func retainActor() {
        let named = named
        Task.detached {
            try? await Task.sleep(for: .seconds(3600))
            withExtendedLifetime(named) {}
        }
    }
}

extension IsolatedObservation {
    /// Whether events are delivered where they are.
    var leavesActor: Bool {
        mutant(.aHopDoesNotReachItsActor) || isolation.own == nil && mutant(.aMethodReferenceLeavesItsActor)
    }
}
#endif
