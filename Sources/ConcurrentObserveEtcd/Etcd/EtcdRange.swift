// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// The keys that a mirror follows: one key, or all keys with a prefix.
public struct EtcdRange: Hashable, Sendable {
    let start: MirrorKey
    /// The first key after the range. It is empty if the range is the one key `start`, and one zero
    /// byte if the range has no end.
    let end: MirrorKey

    /// Returns the range that contains only one key.
    public static func key(_ key: MirrorKey) -> EtcdRange { EtcdRange(start: key, end: "") }

    /// Returns the range of all keys that begin with a prefix. An empty prefix stands for all keys.
    public static func prefix(_ prefix: MirrorKey) -> EtcdRange {
        var end = prefix.bytes
        while let last = end.last {
            if last < 0xFF {
                end[end.count - 1] = last + 1
                return EtcdRange(start: prefix, end: MirrorKey(end))
            }
            end.removeLast()
        }
        // No key comes after the range. In etcd, one zero byte stands for no end.
        return EtcdRange(start: prefix.bytes.isEmpty ? MirrorKey([0]) : prefix, end: MirrorKey([0]))
    }

    func contains(_ key: MirrorKey) -> Bool {
        if end.bytes.isEmpty { return key == start }
        return !(key < start) && (end.bytes == [0] || key < end)
    }
}
#endif
