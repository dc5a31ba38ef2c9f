// SPDX-License-Identifier: Apache-2.0

extension Observed {
    /// Sets the property and returns the replaced value. No other change comes in between. (P2)
    ///
    /// - Returns: The value that the property had before. The caller's copy is destroyed where the
    ///   caller releases it.
    @inlinable
    @discardableResult
    public func exchange(_ newValue: Value) -> Value {
        let replaced = change(to: newValue)
        let old = replaced.value
        replaced.retire()
        return old
    }

    /// Changes the value in place. No other change comes between reading and writing, and the
    /// observers receive one change.
    ///
    /// `body` runs under the lock that all changes of this property take, so it should be short:
    /// other writers wait for it. Readers and registrations do not wait, and see the earlier value.
    /// `body` may read any property, end observations, and observe other properties. It must not
    /// observe this property, and must not change any property: both trap. ``Group/commit(_:)``
    /// changes several properties together. If `body` throws, nothing is changed and no observer is
    /// called. (P5)
    ///
    /// If `body` edits a string or a collection in place, as `modify { $0.append(item) }` does, the
    /// first edit copies it, since readers and the change's `old` keep the earlier value. If `body`
    /// only reads or replaces the value, it is not copied.
    ///
    /// - Parameter body: Receives the present value, and may edit it. The result is the new value,
    ///   even if it is equal to the value before. The code of `body` counts as inside a callback.
    /// - Returns: The result of `body`.
    /// - Throws: The error that `body` throws.
    @inlinable @inline(never)
    @discardableResult
    public func modify<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        mutation.acquireForBody(cell.latch.owner)
        var draft = cell.copyLocked()
        let result: Result
        do throws(Failure) {
            result = try body(&draft)
        } catch {
            mutation.leaveBody(cell.latch.owner)
            mutation.release()
            // The draft is destroyed only now, under no lock, because its destruction may run user
            // code. (P5)
            withExtendedLifetime(draft) {}
            throw error
        }
        let words = cell.encode(draft)
        mutation.leaveBody(cell.latch.owner)
        let replaced = commitLocked(words, draft)
        mutation.release()
        announce(replaced, draft)
        replaced.retire()
        return result
    }

    /// Makes the change: publishes the new value, then calls the observers. Returns the replaced
    /// value, which the caller must retire.
    @inlinable
    internal func change(to newValue: Value) -> ValueCell<Value>.Replaced {
        if observers.mayHavePriorObservers { announceAhead() }
        let words = cell.encode(newValue)
        mutation.acquire(cell.latch.owner)
        let replaced = commitLocked(words, newValue)
        mutation.release()
        announce(replaced, newValue)
        return replaced
    }

    /// Publishes `new`, which `words` encode, and puts the change into the mailboxes. Returns the
    /// replaced value. Requires the mutation lock.
    @inlinable @inline(__always)
    internal func commitLocked(_ words: Latch.Words, _ new: Value) -> ValueCell<Value>.Replaced {
        let replaced = cell.publishLocked(words)
        if observers.mayHaveMailboxes { enqueueLocked(replaced, new) }
        return replaced
    }

    @inlinable @inline(never)
    internal func enqueueLocked(_ replaced: borrowing ValueCell<Value>.Replaced, _ new: Value) {
        observers.enqueue(change(of: replaced, new))
    }
}

extension Observed {
    /// Makes the prior deliveries. Then, if `condition` holds, publishes the new value and puts the
    /// change into the mailboxes. The caller must announce the change to the observers, and retire
    /// the returned value.
    ///
    /// - Parameter condition: Called with the present version, under the mutation lock, so that no
    ///   other change comes between the call of `condition` and this change. It runs no user code.
    ///   (P5)
    /// - Returns: The replaced value, or nil if the condition did not hold.
    @inlinable
    internal func publish(
        _ newValue: Value,
        if condition: (_ version: UInt64) -> Bool
    ) -> ValueCell<Value>.Replaced? {
        if observers.mayHavePriorObservers { announceAhead() }
        let words = cell.encode(newValue)
        mutation.acquire(cell.latch.owner)
        guard condition(cell.version) else {
            mutation.release()
            ValueEncoding<Value>.discard(words)
            return nil
        }
        let replaced = commitLocked(words, newValue)
        mutation.release()
        return replaced
    }
}

extension Observed where Value: Equatable {
    /// Sets the property if its value equals `expected`. No other change comes between comparing
    /// and setting.
    ///
    /// Values are compared outside the lock, with the value's own `==`, and again if another change
    /// came in between. (P5)
    ///
    /// - Returns: Whether the property was set, and the value that was found.
    @inlinable @inline(never)
    @discardableResult
    public func compareExchange(expected: Value, desired: Value) -> (exchanged: Bool, original: Value) {
        mutation.trapInsideBody(.set, cell.latch.owner)
        var prepared: Latch.Words?
        while true {
            let found = cell.load()
            guard ThreadRecord.withUserCode({ found.value == expected }) else {
                if let prepared { ValueEncoding<Value>.discard(prepared) }
                return (false, found.value)
            }
            let words = prepared ?? cell.encode(desired)
            prepared = words
            mutation.acquire(cell.latch.owner)
            guard cell.version == found.version else {
                mutation.release()
                continue
            }
            let replaced = commitLocked(words, desired)
            mutation.release()
            announce(replaced, desired)
            replaced.retire()
            return (true, found.value)
        }
    }
}
