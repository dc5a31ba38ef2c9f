// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A mailbox that takes a property's changes.
@usableFromInline
internal typealias ChangeReceiver<Value: Sendable> = EventReceiver<Change<Value>>

/// Makes the mailbox of one observation. A factory that is *pulled back* from it serves a property
/// of other values: see `pulledBack`. Only one of all these factories makes the mailbox, once.
@usableFromInline
internal class ChangeReceiverFactory<Value: Sendable>: AttachmentClaim, @unchecked Sendable {
    // Unchecked: subclasses have constants, and what one thread writes before the observation
    // begins.
    private let makeReceiver: @Sendable () -> ChangeReceiver<Value>
    /// The factory from which this one is pulled back; nil if there is none.
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

    /// Makes the mailbox. Traps if one of the factories that share the claim has made it before.
    @usableFromInline
    final func make() -> ChangeReceiver<Value> { claimed.claim(makeReceiver) }

    /// The claim of the observation. A factory and those that are pulled back from it share one.
    final var claimed: AttachmentClaim { original ?? self }

    /// Returns the factory for a property of other values. `transform` makes this factory's changes
    /// from that property's, or returns nil to leave one out.
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
/// type attached the observer again, two threads would use them at once.
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

    /// Runs `make`, which makes what is attached. Traps if that was done before, or after
    /// `close(mayBeOpen:)`.
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

    /// Closes the claim: attaching traps from now on.
    ///
    /// - Parameter mayBeOpen: Whether nothing needs to be attached, since the source is gone.
    /// - Returns: Whether something was attached. Traps if it is being attached, if the claim is
    ///   closed, and, unless `mayBeOpen`, if nothing was attached.
    final func close(mayBeOpen: Bool) -> Bool {
        // Acquire: pairs with the release in claim(_:): what was made is seen.
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
