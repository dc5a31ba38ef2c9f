// SPDX-License-Identifier: Apache-2.0

/// Says which events are kept for an observer that is too slow for them.
///
/// The initial delivery counts as an event. The end of a source does not: it is never dropped.
/// (P12)
public enum Buffering: Sendable, Hashable {
    /// Keeps all events, in order. Memory grows for as long as the observer lags behind.
    case unbounded
    /// Keeps only the latest event. The observer never misses the last event, and the versions show
    /// the gaps. After the first events, an event without references needs no allocation.
    case latest
    /// Keeps this number of events. When another one comes, the oldest of them is dropped.
    case droppingOldest(Int)
    /// Keeps this number of events. When another event comes, that new event is dropped: the
    /// observer may miss the last event.
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

    /// Traps if the policy has no room for an event.
    @usableFromInline
    internal func check() {
        guard let capacity, capacity < 1 else { return }
        fatalError(
            "ConcurrentObserve: a buffer of \(capacity) events holds none. Give it room for at least 1, or cancel the observation."
        )
    }
}

/// Says how events of one type follow each other when a policy drops some of them.
///
/// A change carries the value that was there before. If the change to that value was dropped, the
/// observer never received it, and would compare with a value that it does not know. Therefore the
/// change that follows a dropped one takes over its old value: `old` of each received change is
/// `new` of the change received before it. (P2, P3)
///
/// The closures run under a mailbox's lock, and destroy nothing.
@usableFromInline
internal struct Succession<Event: Sendable>: Sendable {
    /// Whether an event is a prior delivery (`.prior`), which announces the next change. It is
    /// dropped if there is no room, and has no old value.
    @usableFromInline let isAhead: @Sendable (Event) -> Bool
    /// Makes `next` follow the event before `dropped`: the two swap their old values.
    @usableFromInline let succeed: @Sendable (_ dropped: inout Event, _ next: inout Event) -> Void
    /// Returns an event that keeps only the old value of a dropped one, for the next event to take
    /// over; nil if nothing is kept. It is called if the dropped event was the newest.
    @usableFromInline let beginning: @Sendable (Event) -> Event?

    @inlinable
    init(
        isAhead: @escaping @Sendable (Event) -> Bool,
        succeed: @escaping @Sendable (_ dropped: inout Event, _ next: inout Event) -> Void,
        beginning: @escaping @Sendable (Event) -> Event?
    ) {
        (self.isAhead, self.succeed, self.beginning) = (isAhead, succeed, beginning)
    }
}

extension Succession {
    /// Returns the succession of a property's changes.
    ///
    /// - Parameter areCompared: Whether the values of each change are compared, as with
    ///   `removingDuplicates()`. If so, the value that was received last is kept when all changes
    ///   after it were dropped. Otherwise nothing is kept, and the next change has its own old
    ///   value.
    @inlinable
    static func ofChanges<Value>(areCompared: Bool) -> Succession where Event == Change<Value> {
        let beginning: @Sendable (Change<Value>) -> Change<Value>? =
            if areCompared { { change in change.beginning } } else { { _ in nil } }
        return Succession(
            isAhead: { change in change.reason == .prior },
            succeed: { dropped, next in Change<Value>.swapOld(&dropped, &next) },
            beginning: beginning
        )
    }
}

extension Change {
    /// Returns the change with another old value.
    @inlinable
    internal func replacing(_ old: Value?) -> Change {
        Change(reason, old, new, version, commitNumber: commitNumber)
    }

    /// Swaps the old values of two changes. Both values stay in a change, so neither is destroyed
    /// here.
    @inlinable
    internal static func swapOld(_ first: inout Change, _ second: inout Change) {
        let old = second.old
        second = second.replacing(first.old)
        first = first.replacing(old)
    }

    /// Returns a change that keeps only the old value; nil if this change has none, or is a prior
    /// delivery.
    @inlinable
    internal var beginning: Change? {
        if reason == .prior { return nil }
        return old.map { old in Change(.valueChanged, old, old, version, commitNumber: 0) }
    }
}
