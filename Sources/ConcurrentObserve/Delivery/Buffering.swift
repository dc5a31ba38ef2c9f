// SPDX-License-Identifier: Apache-2.0

/// What becomes of the events that an observer is too slow for.
///
/// The initial delivery counts as an event. The end of a source does not: it is never dropped. (P12)
public enum Buffering: Sendable, Hashable {
    /// All are kept, in order; memory grows for as long as the observer lags behind.
    case unbounded
    /// Only the latest is kept: the observer never misses the last one, and the versions show the gaps. Allocates nothing for an
    /// event of plain bits, once warm.
    case latest
    /// So many are kept; when another comes, the oldest of them is dropped.
    case droppingOldest(Int)
    /// So many are kept; when another comes, that is dropped: the observer may miss the last one.
    case droppingNewest(Int)
}

extension Buffering {
    /// How many events are kept; nil for all.
    @inlinable
    internal var capacity: Int? {
        switch self {
        case .unbounded: nil
        case .latest: 1
        case .droppingOldest(let capacity), .droppingNewest(let capacity): capacity
        }
    }

    @inlinable
    internal var dropsNewest: Bool { if case .droppingNewest = self { true } else { false } }

    /// Traps unless there is room for an event.
    @usableFromInline
    internal func check() {
        guard let capacity, capacity < 1 else { return }
        fatalError(
            "ConcurrentObserve: a buffer of \(capacity) events holds none. Give it room for at least 1, or cancel the observation."
        )
    }
}
