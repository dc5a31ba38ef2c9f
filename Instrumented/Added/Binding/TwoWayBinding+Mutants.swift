// SPDX-License-Identifier: Apache-2.0

extension TwoWayBinding {
    /// Goes on when the observation has ended.
    @usableFromInline
    func callbackBackwardAlways(by observer: UInt) -> @Sendable (Change<Right>) -> Void {
        { [weak self] change in self?.passBackward(change, by: observer) }
    }
}

extension Arrival {
    /// Lets a change return to where it came from.
    @usableFromInline
    func echo(through edge: Edge, to destination: SourceIdentity) -> Decision {
        if case .over = decision(through: edge, to: destination) { return .onward }
        return decision(through: edge, to: destination)
    }
}
