// SPDX-License-Identifier: Apache-2.0

extension TwoWayBinding {
    /// Goes on when the observation has ended.
    @usableFromInline
    func callbackBackwardAlways() -> @Sendable (Change<Right>) -> Void {
        { [weak self] change in self?.passBackward(change) }
    }
}

extension DeliveryScope {
    /// Lets a change return to where it came from.
    @usableFromInline
    func echo(through edge: Edge, to destination: SourceIdentity, isBackward: Bool) -> Decision {
        let decision = decision(through: edge, to: destination)
        if isBackward, case .over = decision { return .onward }
        return decision
    }
}
