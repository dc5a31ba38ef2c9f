// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A mailbox that takes a property's changes.
@usableFromInline
internal typealias ChangeReceiver<Value: Sendable> = EventReceiver<Change<Value>>

/// Makes the mailbox of one observation.
///
/// `pulledBack` makes another factory from this factory, for a property of other values. All
/// factories that were made from one factory belong to one observation. Only one of them makes the
/// mailbox, once.
@usableFromInline
internal class ChangeReceiverFactory<Value: Sendable>: AttachmentClaim, @unchecked Sendable {
    // Unchecked: subclasses have constants, and what one thread writes before the observation
    // begins.
    private let makeReceiver: @Sendable () -> ChangeReceiver<Value>
    /// The claim of the factory from which `pulledBack` made this factory; nil if there is none.
    private let original: AttachmentClaim?
    /// Whether the mailbox may drop a change.
    let mayDrop: Bool

    @usableFromInline
    init(
        of original: AttachmentClaim? = nil,
        mayDrop: Bool,
        _ make: @escaping @Sendable () -> ChangeReceiver<Value>
    ) {
        (self.original, self.mayDrop, makeReceiver) = (original, mayDrop, make)
    }

    /// Makes the mailbox. Traps if this factory, or another factory that shares the claim, has made
    /// the mailbox before.
    @usableFromInline
    final func make() -> ChangeReceiver<Value> { claimed.claim(makeReceiver) }

    /// The claim of the observation, which ensures that its mailbox is made once. A factory and all
    /// factories that `pulledBack` makes from it share a claim.
    final var claimed: AttachmentClaim { original ?? self }

    /// Returns a factory for a property of other values. `transform` makes a change for this
    /// factory's mailbox from each change of that property, or returns nil to leave the change out.
    ///
    /// - Parameter isComparing: Whether the values of each change are compared, by `transform` or
    ///   by an observer before it: see `PropertyObserver.isComparing`.
    @usableFromInline
    func pulledBack<Other: Sendable>(
        isComparing: Bool,
        _ transform: @escaping @Sendable (Change<Other>) -> Change<Value>?
    ) -> ChangeReceiverFactory<Other> {
        preconditionFailure("a factory is one of a delivery or of an iterator")
    }
}

/// Checks that the observer of one observation is attached to one source, once.
///
/// A mailbox belongs to one source, and an iterator reads its mailbox without a lock. If a property
/// type attached the observer again, two threads could use the mailbox at once.
@usableFromInline
internal class AttachmentClaim: @unchecked Sendable {
    // Unchecked: subclasses say what they have.
    private let state = Atomic<UInt32>(State.open)

    private enum State {
        static var open: UInt32 { 0 }
        static var attaching: UInt32 { 1 }
        static var attached: UInt32 { 2 }
        static var closed: UInt32 { 3 }
    }

    @usableFromInline
    init() {}

    /// Marks the observer as attached, and returns the result of `make`. Traps if the observer is
    /// attached already, or if `close(mayBeOpen:)` was called.
    final func claim<Attached>(_ make: () -> Attached) -> Attached {
        // Relaxed: a thread that finds another state traps, and uses nothing that it finds.
        let found = state.exchange(State.attaching, ordering: .relaxed)
        guard found == State.open else { Self.trap(isLate: found == State.closed) }
        let attached = make()
        // Release: pairs with the acquire in close(mayBeOpen:), which traps if it comes before
        // this.
        state.store(State.attached, ordering: .releasing)
        return attached
    }

    /// Closes the claim: attaching the observer traps from now on.
    ///
    /// - Parameter mayBeOpen: True if the source is gone, so that the observer need not be
    ///   attached.
    /// - Returns: Whether the observer is attached. If it is not, the call traps unless `mayBeOpen`
    ///   is true. It also traps if another thread is just attaching the observer, or if the claim
    ///   is closed already.
    final func close(mayBeOpen: Bool) -> Bool {
        // Acquire: pairs with the release in claim(_:), so the caller sees what that call made.
        switch state.exchange(State.closed, ordering: .acquiring) {
        case State.attached: return true
        case State.open where mayBeOpen: return false
        default:
            fatalError(
                """
                ConcurrentObserve: attach(_:) of a property type returned and had not attached the observer. Pass the observer \
                to attach(_:) of one property before it returns, or to observer.attach(toConstant:) if the value never changes.
                """
            )
        }
    }

    private static func trap(isLate: Bool) -> Never {
        fatalError(
            isLate
                ? """
                ConcurrentObserve: an observer is attached after attach(_:) of its property type has returned. Pass it to \
                attach(_:) of one property, before that.
                """
                : """
                ConcurrentObserve: an observer is attached twice. Pass it to attach(_:) of one property, once; to observe \
                several, make a Group or a Derived of them.
                """
        )
    }
}
