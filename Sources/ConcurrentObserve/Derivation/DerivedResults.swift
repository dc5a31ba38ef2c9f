// SPDX-License-Identifier: Apache-2.0

/// The results of an observed derived value: a property that the user's observers observe, and the changes of it that are published, and not
/// announced yet.
@usableFromInline
internal final class DerivedResults<Value: Sendable>: @unchecked Sendable {
    // Unchecked: `pending` and `others` are guarded by the derived value's lock.

    /// From 0, which is `base` for the observers.
    @usableFromInline let property: Observed<Value>
    @usableFromInline let base: UInt64
    @usableFromInline var pending: Change<Value>?
    /// Those after `pending`.
    @usableFromInline var others: [Change<Value>] = []

    @usableFromInline
    init(_ value: Value, _ base: UInt64) {
        property = Observed(value)
        self.base = base
    }

    /// Attaches the user's observer.
    func attach(_ observer: PropertyObserver<Value>) -> ObservationToken {
        if base == 0 { return property.attach(observer) }
        let base = base
        return property.attach(
            observer.pulledBack { (change: Change<Value>) in
                Change(reason: change.reason, old: change.old, new: change.new, version: change.version + base)
            }
        )
    }

    /// Makes a result a change of the property, and puts it into the mailboxes. Under the derived value's lock: there the words need no pin.
    ///
    /// - Returns: The words that it has replaced.
    @inlinable
    func publish(_ words: Latch.Words) -> Latch.Words {
        let value = ValueEncoding<Value>.copy(words)
        let words = property.cell.encode(value)
        property.mutation.acquire()
        let replaced = property.commit(words, value)
        property.mutation.release()
        let change = Change(reason: .valueChanged, old: replaced.value, new: value, version: replaced.version)
        if pending == nil { pending = change } else { others.append(change) }
        return replaced.words
    }

    /// Notifies the observers of what is published, whatever thread has evaluated it. Under no lock.
    @inlinable
    func announce(_ lock: borrowing SourceLock, becauseOf cause: AnnouncedChange?) {
        inject("derived.deliver")
        var changes: [Change<Value>] = []
        var single: Change<Value>?
        lock.withLock {
            single = pending
            pending = nil
            if !others.isEmpty {
                changes = others
                others = []
            }
            #if INSTRUMENTED
            if mutant(.aPublishedResultIsNotAnnounced), let last = changes.last { (single, changes) = (last, []) }
            #endif
        }
        guard let single else { return }
        guard let cause, changes.isEmpty else {
            // What several changes have brought is of none.
            announce(single)
            for change in changes { announce(change) }
            return
        }
        perform(becauseOf: cause, version: single.version + base) { announce(single) }
    }

    @usableFromInline
    func perform(becauseOf cause: AnnouncedChange, version: UInt64, _ body: () -> Void) {
        cause.relayed(as: version, of: property.observers.identity, keepsValue: false, isCombined: true).perform(body)
    }

    /// Notifies the observers of a change that is published already. Under no lock.
    @inlinable
    func announce(_ change: Change<Value>) {
        let hasMailboxes = property.observers.mayHaveMailboxes
        if hasMailboxes { property.observers.wakeMailboxes(of: Change<Value>.self) }
        property.observers.deliver(change)
        if hasMailboxes { property.observers.drainMailboxes(of: Change<Value>.self) }
    }

    /// Whether observers are there that have not ended.
    var hasLiveObservers: Bool { property.observers.existingCore?.hasLiveObservers ?? false }
}

/// What is done with the results of an observed derived value, compiled where the compiler knows their type.
@usableFromInline
internal struct DerivedResultsCode<Value: Sendable>: Sendable {
    let publish: @Sendable (DerivedResults<Value>, Latch.Words) -> Latch.Words
    let announce: @Sendable (DerivedResults<Value>, borrowing SourceLock, AnnouncedChange?) -> Void

    @usableFromInline
    init(
        publish: @escaping @Sendable (DerivedResults<Value>, Latch.Words) -> Latch.Words,
        announce: @escaping @Sendable (DerivedResults<Value>, borrowing SourceLock, AnnouncedChange?) -> Void
    ) {
        (self.publish, self.announce) = (publish, announce)
    }

    @inlinable @inline(__always)
    static func make() -> DerivedResultsCode {
        DerivedResultsCode(
            publish: { results, words in results.publish(words) },
            announce: { results, lock, cause in results.announce(lock, becauseOf: cause) }
        )
    }
}
