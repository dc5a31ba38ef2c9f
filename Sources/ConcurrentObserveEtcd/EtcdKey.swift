// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// A key of etcd: bytes, which are usually text.
///
/// No `String`: two strings that Swift holds equal may be different keys, and a key need not be UTF-8.
public struct EtcdKey: Hashable, Sendable {
    public let bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The key whose bytes are a text's UTF-8.
    public init(_ text: String) { bytes = Array(text.utf8) }

    /// The key as text, or nil if its bytes are not UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }
}

extension EtcdKey: ExpressibleByStringLiteral {
    public init(stringLiteral text: String) { self.init(text) }
}

/// In the order of bytes, which is etcd's.
extension EtcdKey: Comparable {
    public static func < (left: EtcdKey, right: EtcdKey) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}

extension EtcdKey: CustomStringConvertible {
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}

/// Which keys a mirror follows.
public struct EtcdRange: Hashable, Sendable {
    let start: EtcdKey
    /// The first key after the range; empty for the one key `start`.
    let end: EtcdKey

    /// One key.
    public static func key(_ key: EtcdKey) -> EtcdRange { EtcdRange(start: key, end: "") }

    /// All keys that begin with a prefix; with an empty one all keys.
    public static func prefix(_ prefix: EtcdKey) -> EtcdRange {
        var end = prefix.bytes
        while let last = end.last {
            if last < 0xFF {
                end[end.count - 1] = last + 1
                return EtcdRange(start: prefix, end: EtcdKey(end))
            }
            end.removeLast()
        }
        // Nothing comes after: etcd writes an end of one zero byte.
        return EtcdRange(start: prefix.bytes.isEmpty ? EtcdKey([0]) : prefix, end: EtcdKey([0]))
    }

    func contains(_ key: EtcdKey) -> Bool {
        if end.bytes.isEmpty { return key == start }
        return !(key < start) && (end.bytes == [0] || key < end)
    }
}
#endif
