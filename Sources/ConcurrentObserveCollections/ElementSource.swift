// SPDX-License-Identifier: Apache-2.0

// P1 to P25, as in (P5), are the promises of the library's article Contract.

#if Collections
public import ConcurrentObserve
import ConcurrentObservePlatform
public import HashTreeCollections
import Synchronization

/// The property that the observers of one key are attached to.
///
/// The source is alive while the key has observers: `users` counts them. When the last one leaves,
/// the source is dead. The next observer of the key makes a new source.
@usableFromInline
internal final class ElementSource<Value: Sendable>: @unchecked Sendable {
    // Unchecked: `lock` guards the variables.
    private let lock = Lock()
    private var users = 1
    private var present: State?
    /// The latest change from before the property was made, or nil: see `property(_:_:)`.
    private var early: (value: Value?, version: UInt64)?

    @usableFromInline
    internal final class State: @unchecked Sendable {
        // Unchecked: only commits to the property use the variable.
        @usableFromInline let property: Observed<Value?>
        /// The latest version of the dictionary that the property has seen.
        @usableFromInline var version: UInt64

        init(_ value: Value?, _ version: UInt64) {
            property = Observed(value, version: version)
            self.version = version
        }
    }

    /// Adds a user. If the source is dead, adds none, and returns false.
    func enter() -> Bool {
        lock.withLock {
            if users == 0 { return false }
            users += 1
            return true
        }
    }

    /// Removes a user. If it was the last one, the source is dead from now on, and its value is
    /// released.
    func leave() {
        let last = lock.withLock { () -> State? in
            users -= 1
            return users == 0 ? present.take() : nil
        }
        withExtendedLifetime(last) {}
    }

    var isAlive: Bool { lock.withLock { users > 0 } }

    /// The property. Nil if it was not made yet, or if the source is dead.
    var property: Observed<Value?>? { lock.withLock { present?.property } }

    /// Returns the property, and makes it if there is none. The caller has read `value` at
    /// `version`, after the source was in the table. The property begins with this value, or with a
    /// later change that was announced. It does not begin with an earlier change: between that
    /// change and `version`, other changes may have been announced before the source was in the
    /// table.
    func property(_ value: Value?, _ version: UInt64) -> Observed<Value?> {
        let (state, unused) = lock.withLock { () -> (State, (value: Value?, version: UInt64)?) in
            if let present { return (present, nil) }
            let early = self.early.take()
            let isLater = early.map { $0.version > version } ?? false
            let state = isLater ? State(early!.value, early!.version) : State(value, version)
            if users > 0 { present = state }
            return (state, early)
        }
        withExtendedLifetime(unused) {}
        return state.property
    }

    /// Returns the state that must be changed to `value`, the key's value at a version of the
    /// dictionary. Returns nil if the property was not made yet: it will then begin with this
    /// value, or with a later one. Also returns nil if the source is dead.
    @usableFromInline
    func state(for value: Value?, at version: UInt64) -> State? {
        let (state, unused) = lock.withLock { () -> (State?, (value: Value?, version: UInt64)?) in
            if present != nil || users == 0 { return (present, nil) }
            if let early, early.version > version { return (nil, nil) }
            defer { early = (value, version) }
            return (nil, early)
        }
        withExtendedLifetime(unused) {}
        return state
    }
}

/// The sources of a dictionary's observed keys.
///
/// Keys are hashed and compared under no lock. A thread makes a changed copy of the tree, and
/// stores the copy if no other thread has stored one in the meantime. (P5)
@usableFromInline
internal final class ElementTable<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
    // Unchecked: `lock` guards the variables.
    @usableFromInline typealias Sources = TreeDictionary<Key, ElementSource<Value>>
    @usableFromInline typealias Contents = PersistentDictionary<Key, Value>

    private let lock = Lock()
    private var present: Sources = [:]
    private var changes = 0
    /// The number of sources at which dead sources are removed before the next one is added.
    private var limit = 16
    /// The observation of the dictionary. Nil when the dictionary is gone.
    private var following: ObservationToken?
    private var isClosed = false

    @usableFromInline
    init() {}

    @usableFromInline
    var sources: Sources { lock.withLock { present } }

    /// Returns the source of a key, and adds the caller to its users.
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

    /// Observes the dictionary. If all observations of its contents are cancelled, observes it
    /// again.
    @inlinable
    func follow(_ contents: Observed<Contents>, options: ObservationOptions = []) {
        keep(contents.observe(options: options) { [self] change in follow(change) }) { [weak self, weak contents] in
            if let contents { self?.follow(contents, options: .initial) }
        }
    }

    /// Stores the observation of the dictionary, unless the dictionary is gone.
    ///
    /// - Parameter again: Called if the observation is cancelled while the dictionary exists.
    @usableFromInline
    func keep(_ token: ObservationToken, again: @escaping @Sendable () -> Void) {
        let old = lock.withLock { () -> ObservationToken? in
            if isClosed { return nil }
            defer { following = token }
            return following
        }
        withExtendedLifetime(old) {}
        token.onEnd { [weak self] end in if end == .cancelled, self?.isOpen == true { again() } }
    }

    private var isOpen: Bool { lock.withLock { !isClosed } }

    /// Ends the observations of all keys, because the dictionary is gone.
    @usableFromInline
    func close() {
        let (sources, token) = lock.withLock { () -> (Sources, ObservationToken?) in
            defer { (present, isClosed) = ([:], true) }
            return (present, following.take())
        }
        withExtendedLifetime((sources, token)) {}
    }

    /// Updates the sources of the keys that a change of the dictionary changes. With `.initial`,
    /// updates all sources. The sources change together, so that no reader of several keys sees
    /// only a part of the change. (P19)
    @inlinable
    func follow(_ change: Change<Contents>) {
        let sources = sources
        if sources.isEmpty { return }
        let keys = change.old.map { old in change.new.keys(changedSince: old) } ?? sources.map(\.key)
        var states: [(state: ElementSource<Value>.State, value: Value?)] = []
        for key in keys {
            guard let source = sources[key] else { continue }
            let value = change.new[key]
            // The key was inserted and removed again.
            if let old = change.old, value == nil, old[key] == nil { continue }
            if let state = source.state(for: value, at: change.version) { states.append((state, value)) }
        }
        if states.isEmpty { return }
        // Concurrent changes may arrive in any order. An earlier one must not replace a later one.
        let version = change.version
        PropertyList(states.map(\.state.property)).commit { draft in
            for (state, value) in states where version > state.version {
                state.version = version
                draft[state.property] = value
            }
        }
    }
}
#endif
