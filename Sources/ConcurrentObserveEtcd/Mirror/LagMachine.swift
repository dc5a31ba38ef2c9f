// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// A state of the engine that the contents have to reach before they count as current.
struct SynchronisationTarget: Sendable {
    let revision: Int64
    /// An instant before the engine reported this revision: when the request began.
    let instant: ContinuousClock.Instant
}

/// Decides from the results of probes whether the contents are current. It uses no clock, no lock
/// and no connection.
///
/// The position of current contents may be lower than the revision of a probe: changes may be on
/// their way, or the later revisions may belong to other keys. Therefore the machine keeps the
/// oldest revision that a probe has found and the position has not reached. When the position
/// reaches it, the contents are at least as new as that probe. If the position does not reach it
/// within `limit`, the mirror has to look at the keys themselves.
struct LagMachine: Sendable {
    let limit: Duration
    private var target: SynchronisationTarget?
    private var position: Int64
    /// The revision that was found last.
    private var newest: Int64 = 0
    /// The instant of the last probe that found the position moved, or not behind. `isStalled(at:)`
    /// measures from it.
    private var stalledSince: ContinuousClock.Instant

    init(limit: Duration, position: Int64, at instant: ContinuousClock.Instant) {
        self.limit = limit
        self.position = position
        stalledSince = instant
    }

    /// Takes the result of a probe, and the position after the answer.
    ///
    /// - Returns: The latest instant for which the contents are now confirmed; nil if no later
    ///   instant than before is confirmed.
    mutating func found(_ found: SynchronisationTarget, position: Int64) -> ContinuousClock.Instant? {
        move(to: position, at: found.instant)
        newest = found.revision
        guard position < found.revision else {
            target = nil
            return found.instant
        }
        if let target, position < target.revision { return nil }
        defer { target = found }
        return target?.instant
    }

    /// Takes the result of a look at the keys.
    ///
    /// - Parameter isCurrent: Whether the engine's keys are those of the position.
    /// - Returns: The latest instant for which the contents are now confirmed; nil if no later
    ///   instant than before is confirmed.
    mutating func looked(
        _ found: SynchronisationTarget,
        isCurrent: Bool,
        position: Int64
    ) -> ContinuousClock.Instant? {
        guard isCurrent else { return self.found(found, position: position) }
        target = nil
        move(to: position, at: found.instant)
        return found.instant
    }

    private mutating func move(to position: Int64, at instant: ContinuousClock.Instant) {
        if target == nil || position != self.position { stalledSince = max(stalledSince, instant) }
        self.position = position
    }

    /// The instant at which the position will have been behind for too long; nil if it is not
    /// behind.
    var deadline: ContinuousClock.Instant? { target.map { $0.instant + limit } }

    func isOverdue(at instant: ContinuousClock.Instant) -> Bool { deadline.map { $0 <= instant } ?? false }

    /// The number of revisions by which the engine was ahead of the position; 0 if the keys are
    /// known to be the same.
    var revisions: Int64 { target == nil ? 0 : max(0, newest - position) }

    /// Whether the position has been behind, and has not moved, for at least `limit`. If the keys
    /// have changed, the watch does not deliver their changes.
    func isStalled(at instant: ContinuousClock.Instant) -> Bool { stalledSince.duration(to: instant) >= limit }
}
#endif
