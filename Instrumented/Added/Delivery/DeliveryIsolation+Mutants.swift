// SPDX-License-Identifier: Apache-2.0

extension Delivery {
    @usableFromInline
    func retainActor() {
        guard case .isolated(let isolation) = kind else { return }
        let named = isolation.named
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

extension OrderedObservation {
    /// Whether events are delivered where they are.
    var leavesActor: Bool { mutant(.aDeliveryDoesNotReachItsActor) }

    /// Delivers on the calling thread, without the actor.
    func runAnywhere() -> Bool { deliver(self, 256) }
}
