// SPDX-License-Identifier: Apache-2.0

#if Etcd
public import ConcurrentObserveCollections

/// The keys of a mirror as they were at one revision.
public struct MirrorContents<Value: Sendable>: Sendable {
    /// The revision that brought the last change of these keys, or the list's revision; 0 before
    /// the first list.
    public internal(set) var revision: Int64 = 0

    /// Whether a list brought these contents: the change to them may cover many revisions.
    public internal(set) var isFromList = false

    /// The keys that have a good value, with their last one.
    public internal(set) var entries = PersistentDictionary<MirrorKey, MirrorEntry<Value>>()

    /// The keys whose present value is malformed. Their last good value, if there was one, stands
    /// in ``entries``.
    public internal(set) var errors = PersistentDictionary<MirrorKey, MirrorValueError>()

    /// A key's last good value; nil if it has none.
    public subscript(key: MirrorKey) -> Value? { entries[key]?.value }
}

/// A key's last good value, with what the engine counts.
public struct MirrorEntry<Value: Sendable>: Sendable {
    public let value: Value
    /// The revision that brought the value.
    public let revision: Int64
    public let counts: MirrorCounts
}

/// Why the present value of a key is not shown.
public struct MirrorValueError: Error, Sendable, CustomStringConvertible {
    public let key: MirrorKey
    /// The revision that brought the value.
    public let revision: Int64
    /// The error that the decoder threw.
    public let underlying: any Error

    public var description: String { "the value of '\(key)' of revision \(revision) is malformed: \(underlying)" }
}
#endif
