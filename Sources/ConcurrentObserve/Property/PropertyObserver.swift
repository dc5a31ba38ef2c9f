// SPDX-License-Identifier: Apache-2.0

/// An observer to attach to a property: a closure or a mailbox, with its options.
///
/// `observe` and the methods like it make a `PropertyObserver`. A type that adopts
/// `ObservableProperty` passes it on, once.
public struct PropertyObserver<Value: Sendable>: Sendable {
    @usableFromInline internal let options: ObserverOptions
    /// The owner with which the observation ends. (P13)
    @usableFromInline internal let owner: WeakReference?
    @usableFromInline internal let form: Form
    /// Whether the old and the new value of each change are compared before the closure is called.
    /// This matters only for a weak property whose old referent is gone: see `SeenReferents`.
    @usableFromInline internal let isComparing: Bool

    @usableFromInline
    internal enum Form: Sendable {
        /// A closure that is called on the threads that make the changes.
        case inline(CallbackForm<Change<Value>>)
        /// A factory that makes a mailbox. The mailbox's changes are delivered, or an iterator
        /// returns them, one at a time, in the order of their versions.
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
    /// Begins the observation of a value that never changes. If your property type is a constant,
    /// its `attach` calls this method, and its version is 0.
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

    /// Begins an observation that ends at once for the reason `end`, and returns its token. The
    /// observer is not called.
    ///
    /// A combination uses it when another thread has ended the observation of a member before the
    /// member delivered its first value. (P8)
    internal func attach(toEnded end: ObservationEnd) -> ObservationToken {
        let source = Observed(())
        let uncalled = pulledBack { (_: Change<Void>) in nil }
        let token = source.attach(PropertyObserver<Void>([], owner: owner, uncalled.form))
        // This also ends an observation behind a mailbox now, and not later on a thread of the
        // library.
        source.observers.existingCore?.removeAll { _ in end }
        return token
    }

    /// Returns an observer for a property of other values. `transform` makes a change for this
    /// observer from each change of that property, or returns nil to leave the change out.
    ///
    /// A mailbox keeps the changes of the other property. Each is transformed when it is delivered.
    ///
    /// - Parameters:
    ///   - asCombination: Whether `transform` runs no user code, so that a commit may call the
    ///     observer under its locks.
    ///   - isComparing: Whether `transform` compares the old and the new value of a change.
    internal func pulledBack<Other: Sendable>(
        asCombination: Bool = false,
        isComparing: Bool = false,
        _ transform: @escaping @Sendable (Change<Other>) -> Change<Value>?
    ) -> PropertyObserver<Other> {
        let isComparing = isComparing || self.isComparing
        let pulled: PropertyObserver<Other>.Form
        var options = options
        switch form {
        case .inline(let callback):
            if !asCombination { options.remove(.ofCombination) }
            let isOfCombination = options.contains(.ofCombination)
            pulled = .inline(callback.pulledBack(runsNoUserCode: isOfCombination, transform))
        case .mailbox(let factory):
            pulled = .mailbox(factory.pulledBack(isComparing: isComparing, transform))
        }
        return PropertyObserver<Other>(options, owner: owner, isComparing: isComparing, pulled)
    }
}

extension PropertyObserver {
    /// Returns an observer that leaves out a change if `areEqual` returns true for the value that
    /// the observer received last and the new value. Returns nil if this observer is inline, or if
    /// its mailbox drops no change. Such an observer needs no wrapper: the `old` value of each
    /// change is the value that the observer received last.
    ///
    /// `areEqual` need not be transitive. A value that was left out is therefore never compared
    /// with a later value.
    internal func leavingOut(_ areEqual: @escaping @Sendable (Value, Value) -> Bool) -> PropertyObserver? {
        guard case .mailbox(let factory) = form, factory.mayDrop else { return nil }
        let last = LastReceived<Value>()
        return pulledBack(isComparing: true) { change in
            guard change.reason == .valueChanged, let old = last.value ?? change.old else { return change }
            last.value = areEqual(old, change.new) ? old : nil
            return last.value == nil ? change.replacing(old) : nil
        }
    }
}

/// Stores the value that an observer received last; nil if no change was left out since then.
private final class LastReceived<Value: Sendable>: @unchecked Sendable {
    // Unchecked: used where the observer is called, one change at a time.
    var value: Value?
}
