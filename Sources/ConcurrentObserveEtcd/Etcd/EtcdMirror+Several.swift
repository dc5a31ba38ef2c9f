// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
import Foundation

extension EngineMirror where Engine == EtcdEngine {
    /// Writes several keys as one transaction of etcd. Returns when the mirror shows the result.
    ///
    /// The transaction is one revision: every mirror of these keys, in any process, shows it as one
    /// change.
    ///
    /// - Parameters:
    ///   - values: At most as many as etcd allows in a transaction, 128 unless it is configured
    ///     otherwise.
    ///   - revisions: The revision that each of these keys must still have, 0 for a key that must
    ///     not be there. They may be other keys than those of `values`, and as many. If there are
    ///     none, the values are written whatever was there.
    /// - Returns: The revision that brought the values; the mirror's position if there are none.
    /// - Throws: `MirrorError`: `notShown` has written the values, and the mirror does not show
    ///   them yet; `outcomeUnknown` may have; any other, such as `conflict`, `notConnected`,
    ///   `malformedValue`, `tooManyChanges` and `tooLarge`, has written nothing.
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

    /// Makes the changes as one transaction.
    ///
    /// - Throws: `MirrorError` of the code `conflict` if a key has another revision than the one
    ///   that is given.
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
