// SPDX-License-Identifier: Apache-2.0

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

/// Not the actor of any observer.
private actor OtherActor {
    static let shared = OtherActor()
}

extension DeliveryIsolation {
    /// A closure without isolation is called on another actor than the one whose code has passed
    /// it.
    static func elsewhere(_ own: (any Actor)?) -> DeliveryIsolation { DeliveryIsolation(of: own ?? OtherActor.shared) }
}

extension IsolatedObservation {
    /// Whether events are delivered where they are.
    var leavesActor: Bool { mutant(.aDeliveryDoesNotReachItsActor) }
}
