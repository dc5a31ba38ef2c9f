// SPDX-License-Identifier: Apache-2.0

extension OneWayBinding {
    /// Decides before it has the destination's lock.
    @usableFromInline
    func passEarly(
        _ value: Destination,
        _ version: UInt64,
        to destination: Observed<Destination>,
        through edge: Edge,
        from arrival: Arrival,
        by observer: UInt
    ) {
        let claim = EarlyClaim(isLatest: arrive(version, by: observer))
        destination.receive(value, through: edge, from: arrival, by: observer, if: claim)
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

/// A claim that was decided before.
private struct EarlyClaim: BindingClaim {
    let isLatest: Bool
    static var isOfPair: Bool { false }
    var goesBack: Bool { false }
    func holds(at present: UInt64) -> Bool { isLatest }
}
