// SPDX-License-Identifier: Apache-2.0

/// A mailbox, as the property or the path knows it that puts changes there.
///
/// Closures, made where the value's type is known: compiled for it.
@usableFromInline
internal struct ChangeReceiver<Value: Sendable>: Sendable {
    /// Takes a change, in the order of the versions: under the lock that all changes of the property take. Runs no user code.
    @usableFromInline let enqueue: @Sendable (Change<Value>) -> Void
    /// After each, under no lock: wakes what empties the mailbox elsewhere. Runs no user code but an executor's.
    @usableFromInline let wake: @Sendable () -> Void
    /// After that, under no lock: delivers on this thread, and destroys what was dropped. It may take its time.
    @usableFromInline let drain: @Sendable () -> Void
    /// Whether `drain` calls the user's closure, on the calling thread.
    @usableFromInline let isSerial: Bool
    /// Receives the observer that posts, before it is published. Returns the token of the user's observation; nil if it is the poster's.
    @usableFromInline let join: @Sendable (Observer) -> ObservationToken?
    /// Called when the observer that posts is published.
    @usableFromInline let hasJoined: @Sendable () -> Void

    @inlinable
    init(
        enqueue: @escaping @Sendable (Change<Value>) -> Void,
        wake: @escaping @Sendable () -> Void,
        drain: @escaping @Sendable () -> Void,
        isSerial: Bool,
        join: @escaping @Sendable (Observer) -> ObservationToken?,
        hasJoined: @escaping @Sendable () -> Void
    ) {
        (self.enqueue, self.wake, self.drain, self.isSerial) = (enqueue, wake, drain, isSerial)
        (self.join, self.hasJoined) = (join, hasJoined)
    }

    /// What the observer that posts is, beside what it wants to receive.
    @usableFromInline
    var marks: UInt32 { ObserverState.isOrdered | (isSerial ? ObserverState.isSerial : 0) }
}

/// Makes the mailbox of one observation. Used once.
@usableFromInline
internal class ChangeReceiverFactory<Value: Sendable>: @unchecked Sendable {
    // Unchecked: subclasses have constants, and what one thread writes before the observation begins.
    @usableFromInline let make: @Sendable () -> ChangeReceiver<Value>

    @usableFromInline
    init(_ make: @escaping @Sendable () -> ChangeReceiver<Value>) { self.make = make }

    /// The factory for a property of other values, whose changes `transform` turns into this one's.
    @usableFromInline
    func pulledBack<Other: Sendable>(
        _ transform: @escaping @Sendable (Change<Other>) -> Change<Value>?
    ) -> ChangeReceiverFactory<Other> {
        preconditionFailure("a factory is one of a delivery or of an iterator")
    }
}
