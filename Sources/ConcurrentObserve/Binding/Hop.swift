// SPDX-License-Identifier: Apache-2.0

/// One step of a change's way through bindings: the change that it has become, and how it came there.
///
/// Deliveries are inline, so that the whole way lies on one thread's stack. A binding that makes a change puts a hop beside it for as
/// long as the change is announced; a binding that hears of a change looks whether that hop made it. If another change is told,
/// a callback has made it: that one is new, and its way begins there.
///
/// A change passes each binding of its way at most once. That is why cycles end: a way is no longer than the number of bindings.
internal final class Hop {
    /// The property that was changed. It stays where it is for as long as it is being announced.
    private let property: ObjectIdentifier
    private let version: UInt64

    /// The binding that made the change; nil where a way begins.
    private let edge: ObjectIdentifier?
    private let keepsValue: Bool
    private let previous: Hop?

    private init(
        _ property: ObjectIdentifier,
        _ version: UInt64,
        edge: ObjectIdentifier?,
        keepsValue: Bool,
        previous: Hop?
    ) {
        (self.property, self.version, self.edge) = (property, version, edge)
        (self.keepsValue, self.previous) = (keepsValue, previous)
    }
}

/// A binding, as hops know it.
internal protocol Edge: AnyObject, Sendable {
    /// Whether the value arrives as it was: there is no transform.
    var keepsValue: Bool { get }
}

// MARK: - Beginning and going on

extension Hop {
    /// Where a change of `property` that is being told on this thread comes from.
    static func arriving<Value>(at property: ObjectIdentifier, with change: Change<Value>) -> Hop {
        // An initial delivery is told to one observer alone, whoever has made the change.
        if change.reason != .initial, let hop = ThreadRecord.passage as? Hop, hop.property == property,
            hop.version == change.version
        {
            return hop
        }
        return Hop(property, change.version, edge: nil, keepsValue: true, previous: nil)
    }

    /// Runs `announcement` of the change that `edge` has made of this one.
    func goOn<Value>(
        through edge: any Edge,
        to property: Observed<Value>,
        version: UInt64,
        _ announcement: () -> Void
    ) {
        let next = Hop(
            ObjectIdentifier(property),
            version,
            edge: ObjectIdentifier(edge),
            keepsValue: edge.keepsValue,
            previous: self
        )
        ThreadRecord.withPassage(next, announcement)
    }
}

// MARK: - Deciding

extension Hop {
    /// What a binding may do with a change.
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
    func passage(through edge: any Edge, to destination: ObjectIdentifier) -> Passage {
        var (isSame, passes) = (edge.keepsValue, 0)
        var since: UInt64?
        var hop = self
        while true {
            if since == nil, hop.property == destination {
                if isSame { return .over(knownAs: hop.version) }
                since = hop.version
            }
            guard let made = hop.edge, let previous = hop.previous else { break }
            if made == ObjectIdentifier(edge) { passes += 1 }
            isSame = isSame && hop.keepsValue
            hop = previous
        }
        guard let since else { return .onward }
        return passes < (mutant("a change passes a binding twice") ? 2 : 1)
            ? .around(since: since) : .over(knownAs: since)
    }
}

extension Observed {
    /// Sets the property for a binding if `condition` holds under its lock, and tells its observers. Under no lock. (P5)
    ///
    /// - Returns: Whether it was set.
    @discardableResult
    internal func receive(
        _ value: Value,
        through edge: any Edge,
        from hop: Hop,
        if condition: (_ version: UInt64) -> Bool
    ) -> Bool {
        inject("bind.passing")
        guard let replaced = publish(value, if: condition) else { return false }
        inject("bind.published")
        hop.goOn(through: edge, to: self, version: replaced.version) { announce(replaced, value) }
        replaced.retire()
        return true
    }
}
