// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// How far a mirror's contents may be behind its engine.
public struct MirrorLag: Sendable {
    /// The number of revisions by which the engine was ahead of the contents when it was last
    /// asked. Revisions of other keys count, too, until the mirror knows that these are not its
    /// own.
    public internal(set) var revisions: Int64 = 0

    /// The latest instant for which the contents are confirmed: they are those that the engine had
    /// then, or newer. Nil if they were never confirmed.
    public internal(set) var confirmed: ContinuousClock.Instant?

    let clock: MirrorClock

    /// The longest time for which changes may have been missing, by the mirror's clock. Nil if the
    /// contents were never confirmed.
    public var age: Duration? { confirmed.map { $0.duration(to: clock.now) } }
}

extension MirrorLag: Hashable {
    public static func == (left: MirrorLag, right: MirrorLag) -> Bool {
        (left.revisions, left.confirmed) == (right.revisions, right.confirmed)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(revisions)
        hasher.combine(confirmed)
    }
}
#endif
