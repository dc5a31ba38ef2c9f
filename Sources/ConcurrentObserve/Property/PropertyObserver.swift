// SPDX-License-Identifier: Apache-2.0

/// What is attached to a property: a closure or the mailbox of an iterator, and what it wants to
/// receive.
///
/// `observe` and its like make it. A type that adopts `ObservableProperty` passes it on.
public struct PropertyObserver<Value: Sendable>: Sendable {
    @usableFromInline internal let options: ObservationOptions
    /// With whom the observation ends. (P13)
    @usableFromInline internal let owner: WeakReference?
    @usableFromInline internal let form: Form

    @usableFromInline
    internal enum Form: Sendable {
        /// Called on the threads that make the changes.
        case inline(CallbackForm<Change<Value>>)
        /// Called, or returned by an iterator, one at a time, in the order of the versions.
        case mailbox(ChangeReceiverFactory<Value>)
    }

    @inlinable
    internal init(_ options: ObservationOptions, owner: WeakReference? = nil, _ form: Form) {
        (self.options, self.owner, self.form) = (options, owner, form)
    }
}

extension PropertyObserver {
    /// The observer for what no commit changes as one with other properties.
    @usableFromInline
    internal var withoutCombination: PropertyObserver {
        PropertyObserver(options.subtracting(.ofCombination), owner: owner, form)
    }

    /// The observer for a property of other values, whose changes `transform` makes into this
    /// one's: nil leaves a change out.
    ///
    /// What waits in a mailbox waits as the other property's; it is transformed when it is
    /// delivered.
    ///
    /// - Parameter asCombination: Whether `transform` runs no user code, so that a commit may call the observer under its locks.
    internal func pulledBack<Other: Sendable>(
        asCombination: Bool = false,
        _ transform: @escaping @Sendable (Change<Other>) -> Change<Value>?
    ) -> PropertyObserver<Other> {
        switch form {
        case .inline(let callback):
            PropertyObserver<Other>(
                asCombination ? options : withoutCombination.options,
                owner: owner,
                .inline(
                    callback.pulledBack(
                        runsNoUserCode: asCombination && options.contains(.ofCombination),
                        transform
                    )
                )
            )
        case .mailbox(let factory):
            PropertyObserver<Other>(options, owner: owner, .mailbox(factory.pulledBack(transform)))
        }
    }
}
