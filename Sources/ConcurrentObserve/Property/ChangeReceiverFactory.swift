// SPDX-License-Identifier: Apache-2.0

/// A mailbox that takes a property's changes.
@usableFromInline
internal typealias ChangeReceiver<Value: Sendable> = EventReceiver<Change<Value>>

/// Makes the mailbox of one observation. Used once.
@usableFromInline
internal class ChangeReceiverFactory<Value: Sendable>: @unchecked Sendable {
    // Unchecked: subclasses have constants, and what one thread writes before the observation
    // begins.
    @usableFromInline let make: @Sendable () -> ChangeReceiver<Value>

    @usableFromInline
    init(_ make: @escaping @Sendable () -> ChangeReceiver<Value>) { self.make = make }

    /// The factory for a property of other values, whose changes `transform` makes into this one's.
    @usableFromInline
    func pulledBack<Other: Sendable>(
        _ transform: @escaping @Sendable (Change<Other>) -> Change<Value>?
    ) -> ChangeReceiverFactory<Other> {
        preconditionFailure("a factory is one of a delivery or of an iterator")
    }
}
