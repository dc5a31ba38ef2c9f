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
/// ``contents`` is an ordinary property: a group can commit it together with other properties,
/// derived values can read it, and its changes have the versions 1, 2, 3, … The cost of a change
/// hardly depends on the number of keys. If keys are observed, a change is compared with the value
/// before it, and only the observers of the changed keys are called.
public final class ObservedDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// All keys with their values.
    ///
    /// `modify` and commits hash and compare keys under the property's lock, because their bodies
    /// run there. (P5)
    public let contents: Observed<PersistentDictionary<Key, Value>>
    @usableFromInline internal let elements: ElementTable<Key, Value>

    /// Makes a dictionary, at version 0.
    ///
    /// - Parameters:
    ///   - contents: The first keys and values.
    ///   - label: The name of ``contents`` in diagnostics.
    @inlinable
    public init(_ contents: PersistentDictionary<Key, Value> = [:], label: String = "") {
        self.contents = Observed(contents, label: label)
        elements = ElementTable()
        // This observer is the first one. Therefore the observers of single keys are called before
        // others.
        elements.follow(self.contents)
    }

    deinit { elements.close() }

    /// Returns the value of a key, as a property. It is nil while the key has no value.
    ///
    /// The property costs nothing until it is observed. Any thread may use it.
    @inlinable
    public subscript(key: Key) -> ObservedElement<Key, Value> { ObservedElement(self, key) }
}

/// The value of one key of an ``ObservedDictionary``, as a property. It is nil while the key has no
/// value.
///
/// The element retains the dictionary. Its observations do not retain the dictionary, and end with
/// it. (P11, P12)
///
/// The thread that changes the dictionary calls the observers of the key, before those of
/// `contents`. An observer receives only changes of its key, also if the new value equals the old
/// one. If several threads change the key at the same time, the observer may receive only the last
/// of these changes. (P1)
///
/// If one change of the dictionary changes several keys, their elements change together. A group or
/// a derived value of several keys therefore sees all of this change. The elements change after
/// `contents`. To compute a value from both, read only `contents`. (P19, P23)
///
/// While the key is observed, its version grows by one with each delivered change. The versions
/// continue those of the dictionary, and never decrease. (P2)
public struct ObservedElement<Key: Hashable & Sendable, Value: Sendable>: ObservableProperty {
    @usableFromInline internal let dictionary: ObservedDictionary<Key, Value>
    /// The key.
    public let key: Key

    @inlinable
    internal init(_ dictionary: ObservedDictionary<Key, Value>, _ key: Key) {
        (self.dictionary, self.key) = (dictionary, key)
    }

    /// The key's present value; nil if the key has none. Reading never waits.
    ///
    /// Setting nil removes the key. Setting waits for other changes of the dictionary, and traps in
    /// the body of any `modify` or commit. (P5)
    ///
    /// - Complexity: O(1) expected for reading. O(log *n*), and O(observers), for setting.
    public var value: Value? {
        @inlinable
        get { dictionary.contents.withValue { contents in contents[key] } }
        @inlinable
        nonmutating set { modify { value in value = newValue } }
    }

    /// Changes the value in place. No other change of the dictionary comes between reading and
    /// writing.
    ///
    /// - Parameter body: Receives the key's value, or nil if the key has none. If it leaves nil,
    ///   the key is removed.
    /// - Returns: The result of `body`.
    /// - Throws: The error that `body` throws. Then nothing is changed.
    @inlinable
    @discardableResult
    public func modify<Result, Failure: Error>(
        _ body: (inout Value?) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try dictionary.contents.modify { contents throws(Failure) in try body(&contents[key]) }
    }

    /// The version that ``snapshot()`` returns. (P2)
    public var version: UInt64 { snapshot().version }

    /// Returns the key's value and the version of this value. Never waits for a change.
    ///
    /// While the key has no observer, the version is the dictionary's. Right after a change by
    /// another thread, the snapshot may still have the earlier value.
    public func snapshot() -> (value: Value?, version: UInt64) {
        while true {
            let source = source
            if let property = source?.property { return property.snapshot() }
            let (contents, version) = dictionary.contents.snapshot()
            if let source { return source.property(contents[key], version).snapshot() }
            // A source that is made later begins at this version, or at a later one. So no version
            // belongs to two values.
            if self.source == nil { return (contents[key], version) }
        }
    }

    private var source: ElementSource<Value>? {
        guard let source = dictionary.elements.sources[key], source.isAlive else { return nil }
        return source
    }

    /// Begins an observation of the key's value. Call it from any thread, also inside a callback.
    public func attach(_ observer: PropertyObserver<Value?>) -> ObservationToken {
        let source = dictionary.elements.enter(key)
        // Read after the source is in the table: a thread that publishes a later change finds it
        // there.
        let (contents, version) = dictionary.contents.snapshot()
        let token = source.property(contents[key], version).attach(observer)
        return token.onEnd { [weak source] _ in source?.leave() }
    }

    /// A function that attaches an observer, and does not retain the dictionary. It returns nil
    /// when the dictionary is gone.
    public var weakAttachment: @Sendable (PropertyObserver<Value?>) -> ObservationToken? {
        { [weak dictionary, key] observer in
            dictionary.map { dictionary in dictionary[key].attach(observer) }
        }
    }
}
#endif
