// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// A key of etcd.
public typealias EtcdKey = MirrorKey
/// How values become bytes in etcd, and bytes values.
public typealias EtcdCoding<Value: Sendable> = MirrorCoding<Value>
/// Why a mirror does not follow etcd, or a change was not made.
public typealias EtcdMirrorError = MirrorError
/// Whether the contents of a mirror of etcd may count as current.
public typealias EtcdMirrorState = MirrorState

extension MirrorEntry {
    /// The revision that brought the value, by etcd's name.
    public var modRevision: Int64 { revision }
}
#endif
