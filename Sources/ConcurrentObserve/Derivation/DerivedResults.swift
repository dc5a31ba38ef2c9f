// SPDX-License-Identifier: Apache-2.0

/// The results of an observed derived value: a property that the user's observers observe, and its
/// changes that are published, but not announced yet.
@usableFromInline
internal final class DerivedResults<Value: Sendable>: @unchecked Sendable {
    // Unchecked: `pending` and `pendingOthers` are guarded by the derived value's lock.

    /// The property that the user's observers observe. It continues the versions of the derived
    /// value from the one that was present when the observation began.
    @usableFromInline let property: Observed<Value>
    // Safe, both: no access to one overlaps another access to it.
    /// The first change to announce; nil if there is none. In most cases it is the only one, and
    /// nothing is allocated.
    @safe @exclusivity(unchecked) @usableFromInline var pending: Change<Value>?
    /// The other changes to announce, in order.
    @safe @exclusivity(unchecked) @usableFromInline var pendingOthers: [Change<Value>] = []

    @usableFromInline
    init(_ value: Value, _ version: UInt64) { property = Observed(value, version: version) }

    /// Publishes a result as a change of the property, and puts the change into the mailboxes. The
    /// caller must hold the derived value's lock, so the words need no pin.
    ///
    /// - Returns: The replaced words.
    @inlinable
    func publish(_ words: Latch.Words) -> Latch.Words {
        let value = ValueEncoding<Value>.copy(words)
        let words = property.cell.encode(value)
        // The calling thread may be in the body of a `modify` or a commit: `acquireAnywhere` does
        // not trap there.
        property.mutation.acquireAnywhere()
        let replaced = property.commitLocked(words, value)
        property.mutation.release()
        let change = Change(reason: .valueChanged, old: replaced.value, new: value, version: replaced.version)
        if pending == nil { pending = change } else { pendingOthers.append(change) }
        return replaced.words
    }

    /// Notifies the observers of all published changes that are not announced yet, whichever thread
    /// has evaluated them. The caller must hold no lock.
    @inlinable
    func announce(_ derived: DerivationNode, becauseOf cause: DeliveryScope?) {
        let (first, others) = derived.lock.withLock { () -> (Change<Value>?, [Change<Value>]) in
            defer { (pending, pendingOthers) = (nil, []) }
            return (pending, pendingOthers)
        }
        guard let first else { return }
        guard let cause, others.isEmpty else {
            // Several changes have no single cause.
            property.announce(first, of: first.version)
            for change in others { property.announce(change, of: change.version) }
            return
        }
        perform(becauseOf: cause, version: first.version) {
            property.announce(first, of: first.version)
        }
    }

    @usableFromInline
    func perform(becauseOf cause: DeliveryScope, version: UInt64, _ body: () -> Void) {
        cause.relayed(as: version, of: property.observers.identity, keepsValue: false, isCombined: true).perform(body)
    }
}

/// The results of an observed derived value, without their type. The closures are compiled where
/// the compiler knows the type.
@usableFromInline
internal final class AnyDerivedResults: Sendable {
    /// The results: an instance of `DerivedResults<Value>`.
    @usableFromInline let results: any AnyObject & Sendable
    /// The core of the property that has the results.
    @usableFromInline let core: RegistryCore
    /// Publishes a result. The caller must hold the derived value's lock.
    @usableFromInline let publish: @Sendable (Latch.Words) -> Latch.Words
    /// Announces the published changes. The first parameter is the derived value.
    @usableFromInline let announce: @Sendable (DerivationNode, DeliveryScope?) -> Void

    @inlinable @inline(__always)
    init<Value: Sendable>(_ value: Value, _ version: UInt64) {
        let results = DerivedResults(value, version)
        self.results = results
        core = results.property.observers.core()
        publish = { words in results.publish(words) }
        announce = { derived, cause in results.announce(derived, becauseOf: cause) }
    }
}
