// SPDX-License-Identifier: Apache-2.0

#if Collections
public import HashTreeCollections
import Synchronization

/// A dictionary for the value of a property. Copies share their memory.
///
/// A changed copy shares with the original all of its memory except O(log *n*). Therefore a change
/// of one key costs nearly the same with a hundred keys or a million, and a thread may keep an old
/// copy. ``difference(from:)`` finds the differences between two copies, and does not look at the
/// rest.
///
/// ```swift
/// let limits = Observed(PersistentDictionary(["search": 100, "upload": 5]))
/// limits.modify { limits in limits["upload"] = 10 }
/// ```
///
/// The order of the keys is arbitrary. The dictionary uses the compressed hash-array mapped prefix
/// tree of swift-collections (Steindorfer and Vinju, "Optimizing Hash-Array Mapped Tries for Fast
/// and Lean Immutable JVM Collections", OOPSLA 2015). It also keeps a list of the last assignments.
public struct PersistentDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline internal var entries: TreeDictionary<Key, Entry> = [:]
    /// The last assignments (`latest`), and those before them (`earlier`). When `latest` has as
    /// many assignments as there are keys, but at least 16 and at most 1,024, it becomes `earlier`,
    /// and the former `earlier` is dropped. A difference from an older copy than these must compare
    /// all keys.
    @usableFromInline internal var latest: Assignment<Key>?
    @usableFromInline internal var earlier: Assignment<Key>?

    @usableFromInline
    internal struct Entry: Sendable {
        @usableFromInline let value: Value
        /// The number of the assignment that set the value.
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

    /// Whether the dictionary has no keys.
    @inlinable
    public var isEmpty: Bool { entries.isEmpty }

    /// The value of a key; nil if the key has none. Setting nil removes the key.
    ///
    /// An assignment counts as a change even if the value is equal: see ``difference(from:)``.
    ///
    /// - Complexity: O(1) expected for reading. O(log *n*) for setting.
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

/// The number of assignments so far, to all dictionaries of the process. Each assignment takes the
/// next number, so no two assignments have the same one.
@usableFromInline
internal let lastNumber = Atomic<UInt64>(0)

/// The assignment of a value to a key, or the removal of a key, with a link to the one before.
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
        // A loop, because recursion over a long list would overflow the stack.
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
    /// The keys whose values differ between an old and a new dictionary, with their values.
    public struct Difference: Sendable {
        /// The keys that only the new dictionary has.
        public var inserted: [(key: Key, value: Value)] = []
        /// The keys that both dictionaries have, and that were assigned a value in between. The new
        /// value may equal the old one.
        public var updated: [(key: Key, old: Value, new: Value)] = []
        /// The keys that only the old dictionary has, with their values there.
        public var removed: [(key: Key, value: Value)] = []

        @inlinable
        internal init() {}

        /// Whether no key was inserted, updated or removed.
        @inlinable
        public var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && removed.isEmpty }
    }

    /// Returns the changes since `old`, an earlier copy of this dictionary. With any other
    /// dictionary, the result is correct, too: a key that both have counts as updated, unless both
    /// have it from the same assignment.
    ///
    /// The difference does not show single steps: a key that was removed and then inserted again
    /// counts as updated.
    ///
    /// - Complexity: O(*d*) expected, for *d* assignments since the copy. O(*n*) if *d* is greater
    ///   than *n* or 1,024, or if `old` is not an earlier copy.
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
                    // This is the last assignment of the key.
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
    /// Whether both dictionaries have the same keys with equal values.
    ///
    /// - Complexity: O(*d*) expected if `right` is an earlier copy of `left`, for *d* assignments
    ///   since. O(*n*) if *d* is greater than *n* or 1,024, or if `right` is not an earlier copy.
    @inlinable
    public static func == (left: PersistentDictionary, right: PersistentDictionary) -> Bool {
        left.count == right.count
            && left.keys(changedSince: right).allSatisfy { key in left[key] == right[key] }
    }
}
#endif
