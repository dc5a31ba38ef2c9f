// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// How far a mirror's contents may be behind its engine.
public struct MirrorLag: Sendable {
    /// How many revisions the engine had more than the contents when it was last asked. Revisions
    /// of other keys count until the mirror knows that they are of other keys.
    public internal(set) var revisions: Int64 = 0

    /// The contents are those that the engine had at this instant, or later; nil if there never
    /// were contents.
    public internal(set) var confirmed: ContinuousClock.Instant?

    let clock: MirrorClock

    /// The longest time that changes may have been missing, by the mirror's clock; nil if there
    /// never were contents.
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
