// SPDX-License-Identifier: Apache-2.0

/// How events of one type follow each other, where a policy drops some of them.
///
/// A change says which value was there before. If that value was never received, since the change
/// to it was dropped, an observer compares with a value that it does not know. So the change that
/// follows a dropped one takes over its old value: `old` of each is `new` of the one received
/// before. (P2, P3)
///
/// All of it runs under a mailbox's lock: it destroys nothing.
@usableFromInline
internal struct Succession<Event: Sendable>: Sendable {
    /// Whether an event announces the next one: it is dropped where there is no room, and says
    /// nothing of the time before.
    @usableFromInline let isAhead: @Sendable (Event) -> Bool
    /// Lets an event follow what was there before a dropped one: the two swap their old values.
    @usableFromInline let succeed: @Sendable (_ dropped: inout Event, _ next: inout Event) -> Void
    /// What an event that is dropped says of the time before, without the rest of it; nil: nothing.
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
    /// Of the changes of a property.
    ///
    /// - Parameter areCompared: Whether the values of each are compared. Then what was received last is kept when everything after it was
    ///   dropped; otherwise nothing is kept, and the next change has its own old value.
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
    /// The change, with another old value.
    @inlinable
    internal func replacing(_ old: Value?) -> Change {
        Change(reason, old, new, version, commitNumber: commitNumber)
    }

    /// Swaps the old values of two changes: both live on, so that none is destroyed here.
    @inlinable
    internal static func swapOld(_ first: inout Change, _ second: inout Change) {
        let old = second.old
        second = second.replacing(first.old)
        first = first.replacing(old)
    }

    /// A change that keeps the old value alone; nil if there is none.
    @inlinable
    internal var beginning: Change? {
        if reason == .prior { return nil }
        return old.map { old in Change(.valueChanged, old, old, version, commitNumber: 0) }
    }
}
