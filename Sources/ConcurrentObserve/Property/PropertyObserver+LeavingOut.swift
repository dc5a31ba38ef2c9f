// SPDX-License-Identifier: Apache-2.0

extension PropertyObserver {
    /// The observer without changes to values that are as good as the one that it has received last; nil if it receives all changes: then
    /// the property knows what that is.
    ///
    /// A rule need not hold from the first to the third because it holds from one to the next: what was left out is compared with nothing.
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

/// The value that an observer has received last, if other changes were left out since.
private final class LastReceived<Value: Sendable>: @unchecked Sendable {
    // Unchecked: used where the observer is called, one change at a time.
    var value: Value?
}
