// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

/// Says whether an observation has ended, and for which reason. Also has flags of its observer. It
/// is one word: a thread that walks a table loads it without the core's lock.
@usableFromInline
internal struct ObserverMark: OptionSet, Sendable {
    @usableFromInline let rawValue: UInt32

    @inlinable @inline(__always)
    init(rawValue: UInt32) { self.rawValue = rawValue }

    // All are computed: they are constants in debug builds, too, and nothing is initialized on
    // first use. (P18)

    /// The observation has not ended.
    @inlinable static var active: ObserverMark { ObserverMark(rawValue: 1) }
    /// The closure is destroyed.
    static var finished: ObserverMark { ObserverMark(rawValue: 2) }
    /// The observation ends with its owner.
    static var ownerBound: ObserverMark { ObserverMark(rawValue: 4) }
    /// The observer asks for prior deliveries: the code in the folder Property calls this mark
    /// `receivesPrior`. The core (`RegistryCore`) counts the live observers that have it.
    @inlinable static var flagged: ObserverMark { ObserverMark(rawValue: 8) }
    /// The references of the observer's first table and of its retirement were counted in one step
    /// when the observer was made. The registration counts the observer in the core. The thread
    /// that made the observer registers it next; no other thread has it before.
    static var isCountedAhead: ObserverMark { ObserverMark(rawValue: 16) }
    /// The observer belongs to an observation of another source. It is neither removed nor counted
    /// with the observations of its own source, unless it is also `isOfDerivedValue`.
    static var isForeign: ObserverMark { ObserverMark(rawValue: 64) }
    /// The observer was made for the pool, and has not left it.
    static var unused: ObserverMark { ObserverMark(rawValue: 128) }
    /// Listeners wait for the end of the observation.
    static var hasListeners: ObserverMark { ObserverMark(rawValue: 1024) }
    /// The source was gone when the observer was made, so the observer owns a reference to the
    /// core.
    static var ownsCore: ObserverMark { ObserverMark(rawValue: 2048) }
    /// The observer is a `VersionedObserver`.
    @inlinable static var versioned: ObserverMark { ObserverMark(rawValue: 4096) }

    /// The observer belongs to an observed derived value, which depends on the source. It is
    /// counted, but not removed, with the observations of the source.
    static var isOfDerivedValue: ObserverMark { ObserverMark(rawValue: 8_192) }

    /// The observer is inline (is called on the thread that makes the change), and belongs to an
    /// observation of several properties together or to a path of several steps. A commit also
    /// calls it under the commit's locks. (P21)
    static var isCombined: ObserverMark { ObserverMark(rawValue: 16_384) }

    /// The observer receives no further changes. It belongs to an observation of several properties
    /// together or to a path. Either its observation has ended, or the root of its path is gone:
    /// then the observation ends when the last change is delivered.
    static var isCutOff: ObserverMark { ObserverMark(rawValue: 32) }

    /// The position of the list's two bits.
    @inlinable static var listShift: UInt32 { 8 }
    /// The token belongs to the library: its release is not counted for the diagnostics.
    static var hasLibraryToken: ObserverMark { ObserverMark(rawValue: 1 << 18) }

    /// The position of the `ObservationEnd`, which has two bits.
    @inlinable static var endShift: UInt32 { 16 }
    /// The position of the time at which the observation began. The time has the 12 highest bits.
    static var beginningShift: UInt32 { 20 }
}

extension ObserverMark {
    // The standard library's function is generic: a debug build would call it for every observer.
    @inlinable @inline(__always)
    func contains(_ other: ObserverMark) -> Bool { rawValue & other.rawValue == other.rawValue }

    /// Makes the mark of an observer in this list.
    @inlinable @inline(__always)
    init(_ list: ObserverListIndex) { self.init(rawValue: list.rawValue << Self.listShift) }

    /// The list in which the source keeps the observer.
    @usableFromInline
    var list: ObserverListIndex {
        switch rawValue >> Self.listShift & 3 {
        case 0: .callbacks
        case 1: .mailboxes
        default: .links
        }
    }

    /// Returns the mark that this observer has after its observation has ended for `reason`.
    func ended(_ reason: ObservationEnd) -> ObserverMark {
        ObserverMark(rawValue: rawValue & ~Self.active.rawValue | reason.rawValue << Self.endShift)
    }

    /// The reason for which the observation ended. It is only meaningful if the observation has
    /// ended.
    var end: ObservationEnd {
        // Safe to force: only `ended(_:)` writes these bits, and 0 is a reason.
        ObservationEnd(rawValue: rawValue >> Self.endShift & 3)!
    }

    /// Whether the observation has ended for another reason than the end of its source.
    @inlinable @inline(__always)
    var isRemoved: Bool { !contains(.active) && rawValue >> Self.endShift & 3 != ObservationEnd.sourceDeleted.rawValue }

    /// The mark of an observation that begins now.
    static var beginning: ObserverMark {
        ObserverMark(rawValue: LibraryClock.quarters << beginningShift | active.rawValue)
    }

    /// Whether the observation began at most 4 quarters of a second ago, counted in whole quarters.
    /// It is also true after multiples of 17 minutes, because the time has only 12 bits.
    var isYoung: Bool {
        (LibraryClock.quarters &- rawValue >> Self.beginningShift) & 0xFFF <= 4
    }
}
