// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// Converts values to bytes, and bytes to values.
public struct MirrorCoding<Value: Sendable>: Sendable {
    let decode: @Sendable (_ key: MirrorKey, _ bytes: [UInt8]) throws -> Value
    let encode: @Sendable (Value) throws -> [UInt8]

    /// Makes a coding from two functions.
    ///
    /// - Parameters:
    ///   - decode: Converts bytes to a value. It is called on the mirror's task, under no lock. An
    ///     error that it throws becomes the key's ``MirrorValueError``.
    ///   - encode: Converts a value to bytes. It is called by functions that write values, such as
    ///     ``EngineMirror/set(_:for:ifRevision:lease:)``.
    public init(
        decode: @escaping @Sendable (_ key: MirrorKey, _ bytes: [UInt8]) throws -> Value,
        encode: @escaping @Sendable (Value) throws -> [UInt8]
    ) {
        self.decode = decode
        self.encode = encode
    }
}

extension MirrorCoding where Value == [UInt8] {
    /// Leaves bytes as they are.
    public static var bytes: MirrorCoding { MirrorCoding(decode: { $1 }, encode: { $0 }) }
}

extension MirrorCoding where Value == String {
    /// Converts text to UTF-8 and back. Bytes that are not UTF-8 are malformed.
    public static var text: MirrorCoding {
        MirrorCoding(
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
