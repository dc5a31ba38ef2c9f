// SPDX-License-Identifier: Apache-2.0

extension Observed {
    /// Publishes a value, and puts the change into the mailboxes. Under the mutation lock.
    @inlinable @inline(__always)
    internal func commit(_ words: Latch.Words, _ new: Value) -> ValueCell<Value>.Replaced {
        let replaced = cell.publish(words)
        if observers.mayHaveMailboxes { enqueueUnderLock(replaced, new) }
        return replaced
    }

    @inlinable @inline(__always)
    internal func enqueueUnderLock(_ replaced: borrowing ValueCell<Value>.Replaced, _ new: Value) {
        enqueue(replaced, new)
    }

    @inlinable @inline(never)
    internal func enqueue(_ replaced: borrowing ValueCell<Value>.Replaced, _ new: Value) {
        observers.enqueue(Change(reason: .valueChanged, old: replaced.value, new: new, version: replaced.version))
    }
}
