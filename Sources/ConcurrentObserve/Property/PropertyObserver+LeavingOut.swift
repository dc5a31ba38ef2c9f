// SPDX-License-Identifier: Apache-2.0

extension PropertyObserver {
    /// Returns an observer that leaves out a change if `areEqual` accepts its new value and the
    /// value that the observer received last. Nil if this one receives all changes: then the
    /// property knows which value that is.
    ///
    /// The rule need not be transitive. So a value that was left out is compared with nothing.
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

/// The value that an observer received last, if changes were left out since then.
private final class LastReceived<Value: Sendable>: @unchecked Sendable {
    // Unchecked: used where the observer is called, one change at a time.
    var value: Value?
}
