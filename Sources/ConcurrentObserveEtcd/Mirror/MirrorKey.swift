// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// A key of an engine: bytes, which are usually text.
///
/// It is not a `String`: two strings that are equal in Swift may be different keys, and a key need
/// not be UTF-8.
public struct MirrorKey: Hashable, Sendable {
    public let bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Makes a key from the UTF-8 bytes of a text.
    public init(_ text: String) { bytes = Array(text.utf8) }

    /// The key as text, or nil if its bytes are not UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }
}

extension MirrorKey: ExpressibleByStringLiteral {
    public init(stringLiteral text: String) { self.init(text) }
}

/// Keys are ordered by their bytes.
extension MirrorKey: Comparable {
    public static func < (left: MirrorKey, right: MirrorKey) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}

extension MirrorKey: CustomStringConvertible {
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}
#endif
