// SPDX-License-Identifier: Apache-2.0

#if Collections
public import HashTreeCollections
import Synchronization

/// A dictionary whose copies share their memory, as the value of a property.
///
/// A changed copy shares with its original all but O(log *n*) of its memory. Therefore a change of
/// one key costs nearly the same with a hundred keys or a million, and a thread may keep an old
/// copy. ``difference(from:)`` finds what two copies differ in without looking at the rest.
///
/// ```swift
/// let limits = Observed(PersistentDictionary(["search": 100, "upload": 5]))
/// limits.modify { limits in limits["upload"] = 10 }
/// ```
///
/// The order of the keys is arbitrary. The dictionary is a compressed hash-array mapped prefix tree
/// (Steindorfer and Vinju, "Optimizing Hash-Array Mapped Tries for Fast and Lean Immutable JVM
/// Collections", OOPSLA 2015), the one in swift-collections, with a list of the last assignments.
public struct PersistentDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline internal var entries: TreeDictionary<Key, Entry> = [:]
    /// The last assignments (`latest`), and those before them (`earlier`). When `latest` has as
    /// many assignments as there are keys, but at least 16 and at most 1,024, it becomes `earlier`,
    /// and the former `earlier` is dropped. A difference from a still older copy compares all keys.
    @usableFromInline internal var latest: Assignment<Key>?
    @usableFromInline internal var earlier: Assignment<Key>?

    @usableFromInline
    internal struct Entry: Sendable {
        @usableFromInline let value: Value
        /// The number of the assignment.
        @usableFromInline let number: UInt64

        @inlinable
        init(_ value: Value, _ number: UInt64) { (self.value, self.number) = (value, number) }
    }

    /// Makes an empty dictionary.
    @inlinable
    public init() {}

    /// Makes a dictionary with the contents of another one.
    ///
    /// - Complexity: O(*n*).
    @inlinable
    public init(_ dictionary: [Key: Value]) {
        for (key, value) in dictionary { self[key] = value }
    }

    /// The number of keys.
    @inlinable
    public var count: Int { entries.count }

    /// Whether there is no key.
    @inlinable
    public var isEmpty: Bool { entries.isEmpty }

    /// The value of a key; nil if it has none. Setting nil removes the key.
    ///
    /// An assignment counts as a change even if the value is equal: see ``difference(from:)``.
    ///
    /// - Complexity: O(1) expected for reading, O(log *n*) for setting.
    @inlinable
    public subscript(key: Key) -> Value? {
        get { entries[key]?.value }
        set {
            let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
            if let newValue {
                entries[key] = Entry(newValue, number)
            } else if entries.removeValue(forKey: key) == nil {
                return
            }
            if let latest, latest.length >= Swift.max(16, Swift.min(1_024, count)) {
                (earlier, self.latest) = (latest, nil)
            }
            latest = Assignment(of: key, number, after: latest)
        }
    }
}

/// The number of assignments so far, to all dictionaries of the process. An assignment takes the
/// next number, so no two have the same.
@usableFromInline
internal let lastNumber = Atomic<UInt64>(0)

/// An assignment to a key, or its removal, and those before it.
@usableFromInline
internal final class Assignment<Key: Sendable>: @unchecked Sendable {
    // Unchecked: only `deinit` changes the variable.
    @usableFromInline let key: Key
    @usableFromInline let number: UInt64
    @usableFromInline let length: Int
    @usableFromInline var before: Assignment?

    @inlinable
    init(of key: Key, _ number: UInt64, after before: Assignment?) {
        (self.key, self.number, self.before) = (key, number, before)
        length = (before?.length ?? 0) + 1
    }

    deinit {
        // In a loop: a long list would overflow the stack.
        var next = before.take()
        while isKnownUniquelyReferenced(&next) { next = next!.before.take() }
    }
}

extension PersistentDictionary: Sequence {
    public struct Iterator: IteratorProtocol {
        @usableFromInline internal var base: TreeDictionary<Key, Entry>.Iterator

        @inlinable
        internal init(_ base: TreeDictionary<Key, Entry>.Iterator) { self.base = base }

        @inlinable
        public mutating func next() -> (key: Key, value: Value)? { base.next().map { ($0.key, $0.value.value) } }
    }

    @inlinable
    public var underestimatedCount: Int { count }

    @inlinable
    public func makeIterator() -> Iterator { Iterator(entries.makeIterator()) }
}

extension PersistentDictionary: ExpressibleByDictionaryLiteral {
    /// Makes a dictionary from a literal.
    ///
    /// - Precondition: No key occurs twice in the literal.
    @inlinable
    public init(dictionaryLiteral elements: (Key, Value)...) {
        for (key, value) in elements {
            precondition(self[key] == nil, "ConcurrentObserve: the key \(key) stands twice in the literal. Remove one.")
            self[key] = value
        }
    }
}

// MARK: - Differences

extension PersistentDictionary {
    /// The keys in which two dictionaries differ, with their values.
    public struct Difference: Sendable {
        /// The keys that only the new dictionary has.
        public var inserted: [(key: Key, value: Value)] = []
        /// The keys that were assigned a value since, possibly an equal one.
        public var updated: [(key: Key, old: Value, new: Value)] = []
        /// The keys that only the old dictionary has, with their last values.
        public var removed: [(key: Key, value: Value)] = []

        @inlinable
        internal init() {}

        /// Whether no key was inserted, updated or removed.
        @inlinable
        public var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && removed.isEmpty }
    }

    /// Returns what has changed since `old`, an earlier copy. With any other dictionary the result
    /// is correct, too: a key that both have counts as updated, unless both have it from the same
    /// assignment.
    ///
    /// It says nothing of what happened in between: a key that was removed and inserted again is
    /// updated.
    ///
    /// - Complexity: O(*d*) expected, with *d* assignments since the copy. O(*n*) if these are more
    ///   than *n*, or than 1,024, or if `old` is no earlier copy.
    @inlinable
    public func difference(from old: PersistentDictionary) -> Difference {
        var difference = Difference()
        for key in keys(changedSince: old) {
            switch (old.entries[key]?.value, entries[key]?.value) {
            case (nil, nil): break
            case (nil, let new?): difference.inserted.append((key, new))
            case (let old?, let new?): difference.updated.append((key, old, new))
            case (let old?, nil): difference.removed.append((key, old))
            }
        }
        return difference
    }

    /// Returns the keys that were assigned or removed since `old`, each once.
    @inlinable
    internal func keys(changedSince old: PersistentDictionary) -> [Key] {
        let state = old.latest?.number ?? old.earlier?.number
        if state == latest?.number ?? earlier?.number { return [] }
        var keys: [Key] = []
        var removed: Set<Key> = []
        for list in [latest, earlier] {
            var next = list
            while let assignment = next {
                if assignment.number == state { return keys }
                let key = assignment.key
                if let entry = entries[key] {
                    // The last assignment of the key.
                    if entry.number == assignment.number { keys.append(key) }
                } else if removed.insert(key).inserted {
                    keys.append(key)
                }
                next = assignment.before
            }
        }
        return entries.lazy.filter { key, entry in old.entries[key]?.number != entry.number }.map(\.key)
            + old.entries.keys.lazy.filter { key in entries[key] == nil }
    }
}

extension PersistentDictionary: Equatable where Value: Equatable {
    /// Whether both have the same keys with equal values.
    ///
    /// - Complexity: The same as for ``difference(from:)``.
    @inlinable
    public static func == (left: PersistentDictionary, right: PersistentDictionary) -> Bool {
        left.count == right.count
            && left.keys(changedSince: right).allSatisfy { key in left[key] == right[key] }
    }
}
#endif
