// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// The keys of a mirror as they were at one revision.
public struct EtcdContents<Value: Sendable>: Sendable {
    /// The revision that brought the last change of these keys, or that of the list; 0 before the first list.
    public internal(set) var revision: Int64 = 0

    /// Whether a list brought these contents: the change to them may cover many revisions.
    public internal(set) var isFromList = false

    /// The keys that have a good value, with their last one.
    public internal(set) var entries: [EtcdKey: EtcdEntry<Value>] = [:]

    /// The keys whose present value is malformed. Their last good value, if there was one, stands in ``entries``.
    public internal(set) var errors: [EtcdKey: EtcdValueError] = [:]

    /// A key's last good value; nil if it has none.
    public subscript(key: EtcdKey) -> Value? { entries[key]?.value }
}

/// A key's last good value, with etcd's counts.
public struct EtcdEntry<Value: Sendable>: Sendable {
    public let value: Value
    /// The revision that created the key.
    public let createRevision: Int64
    /// The revision that brought the value.
    public let modRevision: Int64
    /// How often the key has been set since it was created.
    public let version: Int64
    /// The lease that the key ends with, or 0.
    public let lease: Int64
}

/// How values become bytes, and bytes values.
public struct EtcdCoding<Value: Sendable>: Sendable {
    let decode: @Sendable (_ key: EtcdKey, _ bytes: [UInt8]) throws -> Value
    let encode: @Sendable (Value) throws -> [UInt8]

    /// - Parameters:
    ///   - decode: Called on the mirror's task, under no lock. What it throws becomes the key's ``EtcdValueError``.
    ///   - encode: Called by ``EtcdMirror/set(_:for:ifRevision:lease:)``.
    public init(
        decode: @escaping @Sendable (_ key: EtcdKey, _ bytes: [UInt8]) throws -> Value,
        encode: @escaping @Sendable (Value) throws -> [UInt8]
    ) {
        self.decode = decode
        self.encode = encode
    }
}

extension EtcdCoding where Value == [UInt8] {
    /// The bytes as they are.
    public static var bytes: EtcdCoding { EtcdCoding(decode: { $1 }, encode: { $0 }) }
}

extension EtcdCoding where Value == String {
    /// Text in UTF-8; other bytes are malformed.
    public static var text: EtcdCoding {
        EtcdCoding(
            decode: { _, bytes in
                guard let text = String(validating: bytes, as: UTF8.self) else { throw NotText() }
                return text
            },
            encode: { Array($0.utf8) }
        )
    }
}

private struct NotText: Error, CustomStringConvertible {
    var description: String { "it is not UTF-8" }
}
#endif
