// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// A moment that the contents have to reach before they count as current.
struct SynchronisationTarget: Sendable {
    let revision: Int64
    /// Not later than when the engine had this revision.
    let instant: ContinuousClock.Instant
}

/// Decides from what probes have found whether the contents are current, without a clock, a lock or
/// a connection.
///
/// The position of contents that are current may be lower than a probe's revision: changes are on
/// their way, or the revisions between are of other keys. So the machine keeps the oldest revision
/// that a probe has found and the position has not reached. When the position reaches it, the
/// contents are at least those of that probe. When it does not for `limit`, the mirror has to look
/// at the keys themselves.
struct LagMachine: Sendable {
    let limit: Duration
    private var target: SynchronisationTarget?
    private var position: Int64
    /// The revision that was found last.
    private var newest: Int64 = 0
    /// Since when the position has not moved while it should have.
    private var stalledSince: ContinuousClock.Instant

    init(limit: Duration, position: Int64, at instant: ContinuousClock.Instant) {
        self.limit = limit
        self.position = position
        stalledSince = instant
    }

    /// Takes what a probe has found, and the position after its answer.
    ///
    /// - Returns: The latest instant whose contents are known to be there; nil if no later one than
    ///   before is.
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

    /// Takes what a look at the keys has found, and whether they are those of the position.
    ///
    /// - Returns: As ``found(_:position:)``.
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

    /// When the position will have been behind for too long, unless it moves; nil if it is not
    /// behind.
    var deadline: ContinuousClock.Instant? { target.map { $0.instant + limit } }

    func isOverdue(at instant: ContinuousClock.Instant) -> Bool { deadline.map { $0 <= instant } ?? false }

    /// How many revisions the engine had more than the position; 0 if the keys are known to be the
    /// same.
    var revisions: Int64 { target == nil ? 0 : max(0, newest - position) }

    /// Whether the position has not moved for so long that, if keys have changed, their changes do
    /// not come.
    func isStalled(at instant: ContinuousClock.Instant) -> Bool { stalledSince.duration(to: instant) >= limit }
}
#endif
