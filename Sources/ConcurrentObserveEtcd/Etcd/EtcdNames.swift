// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// A key of etcd.
public typealias EtcdKey = MirrorKey
/// Converts values to bytes in etcd, and bytes to values.
public typealias EtcdCoding<Value: Sendable> = MirrorCoding<Value>
/// An error of a mirror of etcd, or of a change that the mirror makes.
public typealias EtcdMirrorError = MirrorError
/// Whether the contents of a mirror of etcd may count as current.
public typealias EtcdMirrorState = MirrorState

extension MirrorEntry {
    /// The revision that set the value. It is the number that etcd calls `mod_revision`.
    public var modRevision: Int64 { revision }
}
#endif
