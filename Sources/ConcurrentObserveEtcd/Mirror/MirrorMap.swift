// SPDX-License-Identifier: Apache-2.0

#if Etcd
import HashTreeCollections

/// A value for each of some keys, in no particular order.
///
/// A persistent map: a changed copy shares with its original all but O(log n) of its memory, so a
/// change of one key costs the same whether the mirror has a hundred keys or a million. It is a
/// compressed hash-array mapped prefix tree (Steindorfer and Vinju, "Optimizing Hash-Array Mapped
/// Tries for Fast and Lean Immutable JVM Collections", OOPSLA 2015), the one in swift-collections.
public struct MirrorMap<Value: Sendable>: Sequence, Sendable {
    private var tree: TreeDictionary<MirrorKey, Value> = [:]

    init() {}

    public var count: Int { tree.count }
    public var underestimatedCount: Int { tree.count }
    public var isEmpty: Bool { tree.isEmpty }

    /// A key's value; nil if it has none. O(1) expected.
    public internal(set) subscript(key: MirrorKey) -> Value? {
        get { tree[key] }
        set { tree[key] = newValue }
    }

    public struct Iterator: IteratorProtocol {
        fileprivate var base: TreeDictionary<MirrorKey, Value>.Iterator

        public mutating func next() -> (key: MirrorKey, value: Value)? { base.next() }
    }

    public func makeIterator() -> Iterator { Iterator(base: tree.makeIterator()) }
}
#endif
