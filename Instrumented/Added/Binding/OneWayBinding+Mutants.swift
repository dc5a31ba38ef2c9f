// SPDX-License-Identifier: Apache-2.0

extension OneWayBinding {
    /// Decides before it has the destination's lock.
    @usableFromInline
    func receiveEarly(
        _ value: Destination,
        _ version: UInt64,
        to destination: Observed<Destination>,
        through edge: Edge,
        from arrival: DeliveryScope,
        by observer: UInt
    ) {
        let isLatest = arrive(version, by: observer)
        destination.receive(value, through: edge, from: arrival) { _ in isLatest }
    }

    /// A binding that retains its destination.
    @usableFromInline
    static func retaining(
        _ binding: OneWayBinding,
        _ destination: Observed<Destination>
    ) -> CallbackForm<Change<Source>> {
        .made { observer in
            let source = observer.sourceIdentity
            return { change in binding.pass(change, of: source, to: destination, by: observer.address) }
        }
    }
}
