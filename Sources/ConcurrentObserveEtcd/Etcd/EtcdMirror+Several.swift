// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
import Foundation

extension EngineMirror where Engine == EtcdEngine {
    /// Writes several keys in one transaction of etcd. Returns when the mirror shows the result.
    ///
    /// The transaction is one revision. Every mirror of these keys, in any process, shows it as one
    /// change.
    ///
    /// - Parameters:
    ///   - values: The new values. etcd limits their number to 128, unless it is configured
    ///     otherwise.
    ///   - revisions: The revision that each of these keys must still have; 0 for a key that must
    ///     not exist. The keys may differ from those of `values`, and the same limit applies to
    ///     their number. If there are none, the values are written unconditionally.
    /// - Returns: The revision of the transaction. If `values` is empty, the mirror's position.
    /// - Throws: `MirrorError`. With `notShown`, the values were written, but the mirror does not
    ///   show them yet. With `outcomeUnknown`, the values may have been written. With any other
    ///   code, such as `conflict`, `notConnected`, `malformedValue`, `tooManyChanges` and
    ///   `tooLarge`, nothing was written. `CancellationError` if the task is cancelled: the values
    ///   may have been written.
    @discardableResult
    public func set(
        _ values: [MirrorKey: Value],
        ifRevisions revisions: [MirrorKey: Int64] = [:]
    ) async throws -> Int64 {
        let puts = try values.map { key, value in try put(value, for: key) }
        guard !puts.isEmpty else { return position.value }
        let revision = try await commit(puts, ifRevisions: revisions).header.revision
        try await waitUntilShown(revision)
        return revision
    }

    func put(_ value: Value, for key: MirrorKey) throws -> Etcdserverpb_RequestOp {
        try checkRange(key)
        var put = Etcdserverpb_RequestOp()
        put.requestPut.key = Data(key.bytes)
        put.requestPut.value = Data(try store.encode(value))
        return put
    }

    func checkRange(_ key: MirrorKey) throws {
        guard engine.range.contains(key) else {
            throw MirrorError(.invalidConfiguration, "the key '\(key)' is outside the mirror's range")
        }
    }

    /// Makes the changes in one transaction.
    ///
    /// - Throws: `MirrorError`. Its code is `conflict` if a key does not have the revision that
    ///   `revisions` requires.
    func commit(
        _ changes: [Etcdserverpb_RequestOp],
        ifRevisions revisions: [MirrorKey: Int64]
    ) async throws -> Etcdserverpb_TxnResponse {
        var request = Etcdserverpb_TxnRequest()
        request.compare = revisions.map { key, revision in
            var unchanged = Etcdserverpb_Compare()
            unchanged.key = Data(key.bytes)
            unchanged.target = .mod
            unchanged.result = .equal
            unchanged.modRevision = revision
            return unchanged
        }
        request.success = changes
        let (answer, server) = try await withSession { [request] session in
            (try await session.connection.transaction(request), "\(session.connection.endpoint)")
        }
        guard answer.succeeded else {
            metrics.conflicts.increment()
            let keys = revisions.sorted { $0.key < $1.key }.map { "'\($0.key)' after revision \($0.value)" }
            throw MirrorError(
                .conflict,
                "nothing was written, since a key has changed: \(keys.joined(separator: ", or "))",
                server: server
            )
        }
        return answer
    }
}
#endif
