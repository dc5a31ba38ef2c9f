// SPDX-License-Identifier: Apache-2.0

/// Says which events are kept for an observer that is too slow for them.
///
/// The initial delivery counts as an event. The end of a source does not: it is never dropped.
/// (P12)
public enum Buffering: Sendable, Hashable {
    /// Keeps all, in order. Memory grows for as long as the observer lags behind.
    case unbounded
    /// Keeps only the latest. The observer never misses the last event, and the versions show the
    /// gaps. After the first events, an event without references needs no
    /// allocation.
    case latest
    /// Keeps this number of events. When another one comes, the oldest of them is dropped.
    case droppingOldest(Int)
    /// Keeps this number of events. When another one comes, that is dropped: the observer may miss
    /// the last event.
    case droppingNewest(Int)
}

extension Buffering {
    /// The number of events that are kept; nil for all.
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
