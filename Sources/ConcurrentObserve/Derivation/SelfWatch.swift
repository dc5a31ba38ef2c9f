// SPDX-License-Identifier: Apache-2.0

/// Finds a function that sets what it has read: its result could never become current, and it would
/// run forever. Traps in the set. If the derived value reports rings, it sets `isHopeless` instead.
/// (P25)
///
/// It looks only after `DerivationCell.suspicious` failures: most often another thread has made the
/// changes. It judges only after `mostByChance` runs in a row that have set what they read. One
/// such run may be chance: this thread released the last reference to an object, whose deinit sets
/// the property, because another thread had just released its own.
internal final class SelfWatch: LinkedPath, @unchecked Sendable {
    // Unchecked: only the evaluating thread uses it, but for the constants.
    private let derived: UInt
    private let thread = ThreadRecord.ownAddress
    private let place: DerivationPlace
    private let runsBefore: Int
    private var observers: [UInt: Observer] = [:]
    private var hasSeen = false
    /// Whether the function sets what it has read, and its derived value reports that as an error.
    private(set) var isHopeless = false

    /// - Parameter runs: The number of runs in a row, before this one, that have set what they have
    ///   read.
    init(_ derived: any DerivationNode, _ place: DerivationPlace, after runs: Int) {
        self.derived = UInt(bitPattern: ObjectIdentifier(derived))
        self.place = place
        runsBefore = runs
    }

    /// The number of runs in a row, with this one, that have set what they have read.
    var runs: Int { hasSeen ? runsBefore + 1 : 0 }

    private static var mostByChance: Int { 8 }

    /// Observes the changes of a source from now on.
    func look(at source: any DerivationRoot) {
        guard observers[source.versionAddress] == nil else { return }
        observers[source.versionAddress] = source.register(self)
    }

    func end() {
        for observer in observers.values { observer.end(.cancelled) }
        observers = [:]
    }

    override func linkHasChanged(_ deferred: inout LinkDeliveries) {
        guard ThreadRecord.ownAddress == thread, EvaluationStack.current.isInside(derived) else { return }
        hasSeen = true
        guard runsBefore >= Self.mostByChance else { return }
        if place.reportsRings {
            isHopeless = true
            return
        }
        fatalError(
            "ConcurrentObserve: the function of a derived value (\(place.text)) sets a property that it has read, so that its result can never be current. Set properties that it does not read, or set this one elsewhere: in an observer of the derived value."
        )
    }
}
