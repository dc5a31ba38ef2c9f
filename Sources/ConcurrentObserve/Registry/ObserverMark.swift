// SPDX-License-Identifier: Apache-2.0

/// What a walk, a token and the reclamation thread must know of an observation: whether it goes on,
/// how it ended, and what it is. One word, which walkers load without the lock.
@usableFromInline
internal struct ObserverMark: OptionSet, Sendable {
    @usableFromInline let rawValue: UInt32

    @inlinable @inline(__always)
    init(rawValue: UInt32) { self.rawValue = rawValue }

    // Computed, all: constants in debug builds too, and nothing that is made on first use. (P18)

    /// The observation has not ended.
    @inlinable static var active: ObserverMark { ObserverMark(rawValue: 1) }
    /// The closure is destroyed.
    static var finished: ObserverMark { ObserverMark(rawValue: 2) }
    /// The observation ends with its owner.
    static var ownerBound: ObserverMark { ObserverMark(rawValue: 4) }
    /// A flag of the room above, which knows what it means. The core counts the live observers that
    /// have it.
    @inlinable static var flagged: ObserverMark { ObserverMark(rawValue: 8) }
    /// The references of the observer's first table and of its retirement were counted when it was made, in one step, and the registration
    /// counts it among those of the core: the thread that made it registers it next, and no other thread has it before.
    static var isCountedAhead: ObserverMark { ObserverMark(rawValue: 16) }
    /// The observer belongs to an observation of another source: it is neither counted nor removed
    /// with the observations of this one.
    static var isForeign: ObserverMark { ObserverMark(rawValue: 64) }
    /// The observer was made for the pool, and has not left it.
    static var unused: ObserverMark { ObserverMark(rawValue: 128) }
    /// Listeners wait for the end.
    static var hasListeners: ObserverMark { ObserverMark(rawValue: 1024) }
    /// The source was gone when the observer was made: the observer owns a reference to the core.
    static var ownsCore: ObserverMark { ObserverMark(rawValue: 2048) }
    /// The observer is a `VersionedObserver`.
    @inlinable static var versioned: ObserverMark { ObserverMark(rawValue: 4096) }

    /// The observer is the link of a derived value that is observed: it counts, but is not removed
    /// with the observations of the source.
    static var isOfDerivedValue: ObserverMark { ObserverMark(rawValue: 8_192) }

    /// The observer is one of several properties that are observed together.
    static var isCombined: ObserverMark { ObserverMark(rawValue: 16_384) }

    /// The observer is one of several properties that are observed together, and receives nothing more of the path that it observes,
    /// whose root is gone. It ends when what it receives now is delivered.
    static var isCutOff: ObserverMark { ObserverMark(rawValue: 32) }

    /// The observer is a binding, or passes on what it receives to one.
    static var isOfBinding: ObserverMark { ObserverMark(rawValue: 32_768) }

    /// Where the list stands, in two bits.
    @inlinable static var listShift: UInt32 { 8 }
    /// Where the `ObservationEnd` stands, in two bits.
    @inlinable static var endShift: UInt32 { 16 }
    /// Where the time of the beginning stands, in the 12 highest bits.
    static var beginningShift: UInt32 { 20 }
}

extension ObserverMark {
    // The standard library's is generic: a debug build would call it at every observer.
    @inlinable @inline(__always)
    func contains(_ other: ObserverMark) -> Bool { rawValue & other.rawValue == other.rawValue }

    /// That of an observer in a list.
    @inlinable @inline(__always)
    init(_ list: ObserverListIndex) { self.init(rawValue: list.rawValue << Self.listShift) }

    /// The list of its source in which the observer is.
    @usableFromInline
    var list: ObserverListIndex {
        switch rawValue >> Self.listShift & 3 {
        case 0: .first
        case 1: .second
        default: .third
        }
    }

    /// The mark of the same observation, ended.
    func ended(_ reason: ObservationEnd) -> ObserverMark {
        ObserverMark(rawValue: rawValue & ~Self.active.rawValue | reason.rawValue << Self.endShift)
    }

    /// How the observation ended, if it has.
    var end: ObservationEnd {
        // Safe to force: `ended(_:)` alone writes these bits, and 0 is a reason.
        ObservationEnd(rawValue: rawValue >> Self.endShift & 3)!
    }

    /// Whether the observation has ended, and not with its source.
    @inlinable @inline(__always)
    var isRemoved: Bool { !contains(.active) && rawValue >> Self.endShift & 3 != ObservationEnd.sourceDeleted.rawValue }

    /// The mark of an observation that begins now.
    static var beginning: ObserverMark {
        ObserverMark(rawValue: LibraryClock.quarters << beginningShift | active.rawValue)
    }

    /// Whether the observation began within the last second, and a quarter at most. 12 bits hold 17 minutes: the same is said of one that is
    /// a multiple of that old.
    var isYoung: Bool {
        (LibraryClock.quarters &- rawValue >> Self.beginningShift) & 0xFFF <= 4
    }
}
