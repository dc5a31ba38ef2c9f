// SPDX-License-Identifier: Apache-2.0

/// Finds the function that sets what it has read: its result could never become current, so that it
/// would run for ever. Traps in the set. (P25)
///
/// Registered only when an evaluation has failed several times: most often others have made the changes.
internal final class SelfWatch: LinkedPath, @unchecked Sendable {
    // Unchecked: used by the thread that evaluates, but for constants.
    private let derived: UInt
    private let thread = ThreadRecord.ownAddress
    private let place: DerivationPlace
    private var observers: [UInt: Observer] = [:]

    init(_ derived: any DerivationNode, _ place: DerivationPlace) {
        self.derived = UInt(bitPattern: ObjectIdentifier(derived))
        self.place = place
    }

    /// From now on looks at the changes of a source.
    func look(at source: any DerivationRoot) {
        guard observers[source.versionAddress] == nil else { return }
        observers[source.versionAddress] = source.register(self)
    }

    func end() {
        for observer in observers.values { observer.end(.cancelled) }
        observers = [:]
    }

    override func linkHasChanged(_ deferred: DeferredDeliveries) {
        guard ThreadRecord.ownAddress == thread, EvaluationStack.current.isInside(derived) else { return }
        fatalError(
            "ConcurrentObserve: the function of a derived value (\(place.text)) sets a property that it has read, so that its result can never be current. Set properties that it does not read, or set this one elsewhere: in an observer of the derived value."
        )
    }
}
