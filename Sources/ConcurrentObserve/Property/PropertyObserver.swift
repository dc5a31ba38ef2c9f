// SPDX-License-Identifier: Apache-2.0

/// An observer to attach to a property: a closure, or the mailbox of an iterator, with its options.
///
/// `observe` and its like make it. A type that adopts `ObservableProperty` passes it on, once.
public struct PropertyObserver<Value: Sendable>: Sendable {
    @usableFromInline internal let options: ObserverOptions
    /// The owner with which the observation ends. (P13)
    @usableFromInline internal let owner: WeakReference?
    @usableFromInline internal let form: Form
    /// Whether the values of each change are compared before the closure is called. If so, and if
    /// the old referent of a weak property is gone, `old` is nil and not a nil referent: a referent
    /// that is gone equals nothing.
    @usableFromInline internal let isComparing: Bool

    @usableFromInline
    internal enum Form: Sendable {
        /// Called on the threads that make the changes.
        case inline(CallbackForm<Change<Value>>)
        /// Called, or returned by an iterator, one at a time, in the order of the versions.
        case mailbox(ChangeReceiverFactory<Value>)
    }

    @inlinable
    internal init(
        _ options: ObserverOptions,
        owner: WeakReference? = nil,
        isComparing: Bool = false,
        _ form: Form
    ) {
        (self.options, self.owner, self.isComparing, self.form) = (options, owner, isComparing, form)
    }
}

extension PropertyObserver {
    /// Begins the observation of a value that never changes. A property type of yours that is a
    /// constant, with the version 0, calls this in its `attach`.
    ///
    /// With `.initial` the value is delivered. The observation goes on until it is cancelled: a
    /// sequence waits, and a group with this member does not end. Any thread.
    ///
    /// - Parameter value: The value. It is kept until the observation has ended.
    /// - Returns: The token that keeps the observation going.
    public func attach(toConstant value: Value) -> ObservationToken {
        let constant = Observed(value)
        let token = constant.attach(self)
        _ = token.observer.whenFinished { _ in withExtendedLifetime(constant) {} }
        return token
    }

    /// The observer without `.ofCombination`: a commit does not call it under its locks.
    @usableFromInline
    internal var withoutCombination: PropertyObserver {
        PropertyObserver(options.subtracting(.ofCombination), owner: owner, isComparing: isComparing, form)
    }

    /// Returns an observer for a property of other values. `transform` makes this observer's
    /// changes from that property's, or returns nil to leave one out.
    ///
    /// A mailbox keeps the changes of the other property. Each is transformed when it is delivered.
    ///
    /// - Parameters:
    ///   - asCombination: Whether `transform` runs no user code, so that a commit may call the observer under its locks.
    ///   - isComparing: Whether `transform` compares the values of a change.
    internal func pulledBack<Other: Sendable>(
        asCombination: Bool = false,
        isComparing: Bool = false,
        _ transform: @escaping @Sendable (Change<Other>) -> Change<Value>?
    ) -> PropertyObserver<Other> {
        switch form {
        case .inline(let callback):
            PropertyObserver<Other>(
                asCombination ? options : withoutCombination.options,
                owner: owner,
                isComparing: isComparing,
                .inline(
                    callback.pulledBack(
                        runsNoUserCode: asCombination && options.contains(.ofCombination),
                        transform
                    )
                )
            )
        case .mailbox(let factory):
            PropertyObserver<Other>(
                options,
                owner: owner,
                isComparing: isComparing,
                .mailbox(factory.pulledBack(isComparing: isComparing, transform))
            )
        }
    }
}
