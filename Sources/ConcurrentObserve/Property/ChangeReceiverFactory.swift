// SPDX-License-Identifier: Apache-2.0

/// A mailbox that takes a property's changes.
@usableFromInline
internal typealias ChangeReceiver<Value: Sendable> = EventReceiver<Change<Value>>

/// Makes the mailbox of one observation. It is used once, together with all factories that are
/// pulled back from it.
@usableFromInline
internal class ChangeReceiverFactory<Value: Sendable>: AttachmentClaim, @unchecked Sendable {
    // Unchecked: subclasses have constants, and what one thread writes before the observation
    // begins.
    private let makeReceiver: @Sendable () -> ChangeReceiver<Value>
    /// The factory from which this one is pulled back; nil for one that is not.
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

    /// Makes the mailbox. Once; traps otherwise.
    @usableFromInline
    final func make() -> ChangeReceiver<Value> { claimed.claim(makeReceiver) }

    /// The claim of the observation. A factory and those that are pulled back from it share one.
    final var claimed: AttachmentClaim { original ?? self }

    /// Returns the factory for a property of other values. `transform` makes this factory's changes
    /// from that property's, or returns nil to leave one out.
    ///
    /// - Parameter isComparing: Whether `transform` compares the values of a change.
    @usableFromInline
    func pulledBack<Other: Sendable>(
        isComparing: Bool,
        _ transform: @escaping @Sendable (Change<Other>) -> Change<Value>?
    ) -> ChangeReceiverFactory<Other> {
        preconditionFailure("a factory is one of a delivery or of an iterator")
    }
}
