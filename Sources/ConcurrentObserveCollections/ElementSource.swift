// SPDX-License-Identifier: Apache-2.0

#if Collections
public import ConcurrentObserve
public import HashTreeCollections
public import Synchronization

/// The property that the observers of one key are attached to.
///
/// It is there while the key has observers: `users` counts them. Once there is none, the source is
/// dead, and the next observer makes another one.
@usableFromInline
internal final class ElementSource<Value: Sendable>: Sendable {
    private let users = Atomic(1)
    @usableFromInline internal let state = AtomicLazyReference<State>()

    @usableFromInline
    internal final class State: @unchecked Sendable {
        // Unchecked: only bodies of the property's `modify` use the variable.
        @usableFromInline let property: Observed<Value?>
        /// The latest version of the dictionary that the property has seen.
        @usableFromInline var version: UInt64

        @usableFromInline
        init(_ value: Value?, _ version: UInt64) {
            property = Observed(value, version: version)
            self.version = version
        }
    }

    /// Adds a user. Returns false if the source is dead.
    func enter() -> Bool {
        var count = users.load(ordering: .relaxed)
        while count > 0 {
            // Relaxed, all: the table's lock orders what users see, and nothing else depends on the
            // count.
            let result = users.weakCompareExchange(expected: count, desired: count + 1, ordering: .relaxed)
            if result.exchanged { return true }
            count = result.original
        }
        return false
    }

    /// Removes a user. The last one leaves a dead source.
    func leave() { users.wrappingSubtract(1, ordering: .relaxed) }

    @usableFromInline
    var isAlive: Bool { users.load(ordering: .relaxed) > 0 }

    /// The property. It begins with the first value that a thread gives: the thread that made the
    /// source, or one that changed the dictionary since.
    func property(_ value: Value?, _ version: UInt64) -> Observed<Value?> {
        (state.load() ?? state.storeIfNil(State(value, version))).property
    }

    /// The property, if it has begun.
    var property: Observed<Value?>? { state.load()?.property }

    /// Changes the property to the value that the key has at a version of the dictionary, unless it
    /// has a later one: changes that race arrive in any order.
    @inlinable
    func update(to value: Value?, at version: UInt64) {
        let state = state.load() ?? state.storeIfNil(State(value, version))
        try? state.property.modify { element throws(Overtaken) in
            guard version > state.version else { throw Overtaken() }
            state.version = version
            element = value
        }
    }
}

/// A later value is there.
@usableFromInline
internal struct Overtaken: Error {
    @inlinable
    init() {}
}

/// The sources of a dictionary's observed keys.
///
/// Keys are hashed and compared under no lock: a thread makes a changed copy of the tree, and
/// stores it if no other thread has stored one since. (P5)
@usableFromInline
internal final class ElementTable<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
    // Unchecked: `lock` guards the variables.
    @usableFromInline typealias Sources = TreeDictionary<Key, ElementSource<Value>>

    private let lock = Lock()
    private var present: Sources = [:]
    private var changes = 0
    /// With this many sources, the next one is added without the dead ones.
    private var limit = 16

    @usableFromInline
    init() {}

    @usableFromInline
    var sources: Sources { lock.withLock { present } }

    /// Returns the source of a key, with the caller as a user.
    func enter(_ key: Key) -> ElementSource<Value> {
        while true {
            var (copy, changes, limit) = lock.withLock { (present, self.changes, self.limit) }
            if let source = copy[key], source.enter() { return source }
            if copy.count >= limit {
                copy = copy.filter { _, source in source.isAlive }
                limit = max(16, 2 * copy.count)
            }
            let source = ElementSource<Value>()
            copy[key] = source
            let isStored = lock.withLock {
                guard self.changes == changes else { return false }
                // The old tree is destroyed with `copy`, after the lock.
                swap(&present, &copy)
                (self.changes, self.limit) = (changes + 1, limit)
                return true
            }
            if isStored { return source }
        }
    }

    /// Updates the sources of the keys that a change of the dictionary concerns.
    @inlinable
    func follow(_ change: Change<PersistentDictionary<Key, Value>>) {
        let sources = sources
        guard !sources.isEmpty, let old = change.old else { return }
        for key in change.new.keys(changedSince: old) {
            guard let source = sources[key], source.isAlive else { continue }
            source.update(to: change.new[key], at: change.version)
        }
    }
}
#endif
