// SPDX-License-Identifier: Apache-2.0

#if Etcd
public import ConcurrentObserveCollections

/// The keys of a mirror as they were at one revision.
public struct MirrorContents<Value: Sendable>: Sendable {
    /// The revision of the last change to these keys. If a list made the change, the revision of
    /// the list. 0 before the first list.
    public internal(set) var revision: Int64 = 0

    /// Whether a list made the last change. That change may cover many revisions.
    public internal(set) var isFromList = false

    /// The keys that have a good value, each with its last good value.
    public internal(set) var entries = PersistentDictionary<MirrorKey, MirrorEntry<Value>>()

    /// The keys whose present value is malformed, each with the error. The last good value of such
    /// a key, if there was one, is in ``entries``.
    public internal(set) var errors = PersistentDictionary<MirrorKey, MirrorValueError>()

    /// A key's last good value; nil if it has none.
    public subscript(key: MirrorKey) -> Value? { entries[key]?.value }
}

/// A key's last good value, with the engine's counts.
public struct MirrorEntry<Value: Sendable>: Sendable {
    public let value: Value
    /// The revision that set the value.
    public let revision: Int64
    public let counts: MirrorCounts
}

/// The reason why the present value of a key is not shown: it cannot be decoded.
public struct MirrorValueError: Error, Sendable, CustomStringConvertible {
    public let key: MirrorKey
    /// The revision that set the value.
    public let revision: Int64
    /// The error that the decoder threw.
    public let underlying: any Error

    public var description: String { "the value of '\(key)' of revision \(revision) is malformed: \(underlying)" }
}
#endif
