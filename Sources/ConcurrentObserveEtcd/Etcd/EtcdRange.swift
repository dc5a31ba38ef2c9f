// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// Which keys a mirror follows.
public struct EtcdRange: Hashable, Sendable {
    let start: MirrorKey
    /// The first key after the range; empty for the one key `start`.
    let end: MirrorKey

    /// One key.
    public static func key(_ key: MirrorKey) -> EtcdRange { EtcdRange(start: key, end: "") }

    /// All keys that begin with a prefix; with an empty one all keys.
    public static func prefix(_ prefix: MirrorKey) -> EtcdRange {
        var end = prefix.bytes
        while let last = end.last {
            if last < 0xFF {
                end[end.count - 1] = last + 1
                return EtcdRange(start: prefix, end: MirrorKey(end))
            }
            end.removeLast()
        }
        // Nothing comes after: etcd writes an end of one zero byte.
        return EtcdRange(start: prefix.bytes.isEmpty ? MirrorKey([0]) : prefix, end: MirrorKey([0]))
    }

    func contains(_ key: MirrorKey) -> Bool {
        if end.bytes.isEmpty { return key == start }
        return !(key < start) && (end.bytes == [0] || key < end)
    }
}
#endif
