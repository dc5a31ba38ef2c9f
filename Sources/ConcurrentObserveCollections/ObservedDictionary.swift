// SPDX-License-Identifier: Apache-2.0

#if Collections
public import ConcurrentObserve

/// A dictionary that any thread may read, change and observe: as a whole, by its differences, or by
/// single keys.
///
/// ```swift
/// let flags = ObservedDictionary(["search": true])
/// let token = flags["search"].observe { change in print(change.new ?? false) }
/// flags["search"].value = false
/// flags.contents.modify { contents in
///     contents["search"] = nil
///     contents["upload"] = true
/// }
/// let other = flags.contents.observeDifferences { difference, _ in print(difference.inserted) }
/// ```
///
/// ``contents`` is a property like any other: groups commit it together with others, derived values
/// read it, and its changes have the versions 1, 2, 3, … A change costs the same with ten keys or a
/// million. While keys are observed, a change also looks for the keys that it concerns, and calls
/// only their observers.
public final class ObservedDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// All keys with their values.
    ///
    /// The bodies of its `modify` and of commits hash and compare keys under the property's lock,
    /// where all code of such a body runs. (P5)
    public let contents: Observed<PersistentDictionary<Key, Value>>
    @usableFromInline internal let elements: ElementTable<Key, Value>

    /// Makes a dictionary, at version 0.
    ///
    /// - Parameters:
    ///   - contents: The first keys and values.
    ///   - label: A name for diagnostics.
    @inlinable
    public init(_ contents: PersistentDictionary<Key, Value> = [:], label: String = "") {
        self.contents = Observed(contents, label: label)
        elements = ElementTable()
        // The first observer, so the observers of single keys are called before others.
        elements.follow(self.contents)
    }

    deinit { elements.close() }

    /// The value of a key, as a property: nil while the key has none.
    ///
    /// It costs nothing until it is observed. Any thread.
    @inlinable
    public subscript(key: Key) -> ObservedElement<Key, Value> { ObservedElement(self, key) }
}

/// The value of one key of an ``ObservedDictionary``, as a property: nil while the key has none.
///
/// It retains the dictionary; its observations do not, and end with the dictionary. (P11, P12)
///
/// The thread that changes the dictionary calls the key's observers, before those of `contents`. An
/// observer receives only the changes of its key, the assignment of an equal value among them. If
/// several threads change the key at once, it may receive only the last of these changes. (P1)
///
/// The keys that a change concerns change together, so a group or a derived value of several keys
/// sees all of it. It comes after the change of `contents`: for a value of both, read only
/// `contents`. (P19, P23)
///
/// While the key is observed its versions grow by one with each change that is delivered. They
/// continue those of the dictionary, and never go back. (P2)
public struct ObservedElement<Key: Hashable & Sendable, Value: Sendable>: ObservableProperty {
    @usableFromInline internal let dictionary: ObservedDictionary<Key, Value>
    /// The key.
    public let key: Key

    @inlinable
    internal init(_ dictionary: ObservedDictionary<Key, Value>, _ key: Key) {
        (self.dictionary, self.key) = (dictionary, key)
    }

    /// The key's present value; nil if it has none. Reading never waits.
    ///
    /// Setting nil removes the key. Setting waits for other changes of the dictionary, and traps in
    /// the body of any `modify` or commit. (P5)
    ///
    /// - Complexity: Reading: O(1) expected. Setting: O(log *n*), and O(observers).
    public var value: Value? {
        @inlinable
        get { dictionary.contents.withValue { contents in contents[key] } }
        @inlinable
        nonmutating set { modify { value in value = newValue } }
    }

    /// Changes the value in place, as `modify` of an `Observed` does. No other change of the
    /// dictionary comes between reading and writing.
    ///
    /// - Parameter body: Receives the key's value, or nil. Leaving nil removes the key.
    /// - Returns: The result of `body`.
    /// - Throws: The error that `body` throws. Then nothing is changed.
    @inlinable
    @discardableResult
    public func modify<Result, Failure: Error>(
        _ body: (inout Value?) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try dictionary.contents.modify { contents throws(Failure) in try body(&contents[key]) }
    }

    /// The version of ``snapshot()``. (P2)
    public var version: UInt64 { snapshot().version }

    /// Returns the key's value and its version, which belong together. Never waits for a change.
    ///
    /// While the key has no observer, the version is the dictionary's. Right after a change by
    /// another thread, the snapshot may still have the earlier value.
    public func snapshot() -> (value: Value?, version: UInt64) {
        while true {
            let source = source
            if let property = source?.property { return property.snapshot() }
            let (contents, version) = dictionary.contents.snapshot()
            if let source { return source.property(contents[key], version).snapshot() }
            // A source that is made after this begins at this version or at a later one: no version
            // stands for two values.
            if self.source == nil { return (contents[key], version) }
        }
    }

    private var source: ElementSource<Value>? {
        guard let source = dictionary.elements.sources[key], source.isAlive else { return nil }
        return source
    }

    /// Begins an observation of the key's value. Any thread, also inside a callback.
    public func attach(_ observer: PropertyObserver<Value?>) -> ObservationToken {
        let source = dictionary.elements.enter(key)
        // After the source is in the table: a thread that publishes a later change finds it there.
        let (contents, version) = dictionary.contents.snapshot()
        let token = source.property(contents[key], version).attach(observer)
        return token.onEnd { [weak source] _ in source?.leave() }
    }

    /// A function that attaches an observer and does not retain the dictionary. It returns nil once
    /// the dictionary is gone.
    public var weakAttachment: @Sendable (PropertyObserver<Value?>) -> ObservationToken? {
        { [weak dictionary, key] observer in
            dictionary.map { dictionary in dictionary[key].attach(observer) }
        }
    }
}
#endif
