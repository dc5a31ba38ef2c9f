// SPDX-License-Identifier: Apache-2.0

/// One step of a change's way through bindings: the change that arrived at a binding, and the one that this has made of it.
///
/// Deliveries are inline, so that the whole way lies on one thread's stack. A binding that makes a change puts a hop beside it for as
/// long as the change is announced; a binding that hears of a change looks whether that hop made it. If another change is told,
/// a callback has made it: that one is new, and its way begins there.
///
/// A change passes each binding of its way at most once. That is why cycles end: a way is no longer than the number of bindings.
internal final class Hop {
    fileprivate let origin: Arrival
    fileprivate let edge: Edge
    /// What the binding has made.
    fileprivate let property: ObjectIdentifier
    fileprivate let version: UInt64

    fileprivate init(from origin: Arrival, through edge: Edge, to property: ObjectIdentifier, version: UInt64) {
        (self.origin, self.edge, self.property, self.version) = (origin, edge, property, version)
    }
}

/// A binding, as hops know it.
@usableFromInline
internal struct Edge {
    /// Compared, not followed.
    fileprivate let binding: ObjectIdentifier
    /// Whether the value arrives as it was: there is no transform.
    fileprivate let keepsValue: Bool

    @usableFromInline
    init(_ binding: AnyObject, keepsValue: Bool) {
        (self.binding, self.keepsValue) = (ObjectIdentifier(binding), keepsValue)
    }
}

/// A change that a binding hears of, and how it came there.
///
/// What depends on the values' types is compiled where they are known; this is not, and is called.
@usableFromInline
internal struct Arrival {
    /// The property that was changed. It stays where it is for as long as it is being announced. Nil for a source that numbers its changes
    /// itself: a path of several steps, or a group.
    private let property: ObjectIdentifier?
    private let version: UInt64
    /// What has made the change; nil where a way begins.
    private let hop: Hop?

    /// A change of `property` that is being told on this thread.
    ///
    /// - Parameter isInitial: It is told to one observer alone, whoever has made the change.
    @usableFromInline
    init(at property: ObjectIdentifier?, version: UInt64, isInitial: Bool) {
        (self.property, self.version) = (property, version)
        guard !isInitial, let hop = ThreadRecord.passage as? Hop else {
            hop = nil
            return
        }
        // Without a property the versions do not tell whether the hop has made the change: it is taken for granted.
        let isOfHop = property == nil || hop.property == property && hop.version == version
        self.hop = isOfHop ? hop : nil
    }

    /// Runs `announcement` of the change that `edge` has made of this one.
    @usableFromInline
    func goOn(through edge: Edge, to property: ObjectIdentifier, version: UInt64, _ announcement: () -> Void) {
        ThreadRecord.withPassage(Hop(from: self, through: edge, to: property, version: version), announcement)
    }
}

// MARK: - Deciding

extension Arrival {
    /// What a binding may do with a change.
    @usableFromInline
    enum Passage {
        /// Pass it on.
        case onward
        /// Pass it on if its destination is still at this version, which the same change has made: it comes round a cycle with
        /// another value, and must not undo what others have set meanwhile.
        case around(since: UInt64)
        /// Nothing. It has passed here before, or comes back as it was to where it was, as this version.
        case over(knownAs: UInt64)
    }

    /// Whether the change may pass `edge`.
    ///
    /// - Complexity: O(*n*) in the length of its way.
    @usableFromInline
    func passage(through edge: Edge, to destination: ObjectIdentifier) -> Passage {
        guard property != nil else { return passageFromAfar(through: edge) }
        var (isSame, passes) = (edge.keepsValue, 0)
        var since: UInt64?
        var arrival = self
        while true {
            if since == nil, arrival.property == destination {
                if isSame { return .over(knownAs: arrival.version) }
                since = arrival.version
            }
            guard let hop = arrival.hop else { break }
            if hop.edge.binding == edge.binding { passes += 1 }
            isSame = isSame && hop.edge.keepsValue
            arrival = hop.origin
        }
        guard let since else { return .onward }
        return Self.mayPass(after: passes) ? .around(since: since) : .over(knownAs: since)
    }

    /// Whether a change may pass a binding that it has passed so often.
    private static func mayPass(after passes: Int) -> Bool {
        #if INSTRUMENTED
        if mutant(.aChangePassesABindingTwice) { return passes < 2 }
        #endif
        return passes < 1
    }
}

extension Arrival {
    /// Whether the change may pass `edge`, where its source numbers changes itself. One that a callback has made cannot be told from one that
    /// comes round a cycle: so it passes twice, and a cycle ends all the same.
    private func passageFromAfar(through edge: Edge) -> Passage {
        var passes = 0
        var arrival = self
        while let hop = arrival.hop {
            if hop.edge.binding == edge.binding { passes += 1 }
            arrival = hop.origin
        }
        return passes < 2 ? .onward : .over(knownAs: version)
    }
}

extension Observed {
    /// Sets the property for a binding if `condition` holds under its lock, and tells its observers. Under no lock. (P5)
    @inlinable
    internal func receive(
        _ value: Value,
        through edge: Edge,
        from arrival: Arrival,
        if condition: (_ version: UInt64) -> Bool
    ) {
        inject("bind.passing")
        guard let replaced = publish(value, if: condition) else { return }
        inject("bind.published")
        // An observer that is registered from now on has a later version than this. Without observers
        // no callback looks for a hop.
        if observers.hasBeenObserved {
            arrival.goOn(through: edge, to: ObjectIdentifier(self), version: replaced.version) {
                announce(replaced, value)
            }
        }
        replaced.retire()
    }
}
