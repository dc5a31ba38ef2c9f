// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
import Foundation

extension EngineMirror where Engine == EtcdEngine {
    /// Writes several keys as one transaction of etcd, whatever their values were. Returns when the mirror shows the result.
    ///
    /// The transaction is one revision: every mirror of these keys, in any process, shows it as one change.
    ///
    /// - Parameter values: At most as many as etcd allows in a transaction, 128 unless it is configured otherwise.
    /// - Returns: The revision that brought the values; the mirror's position if there are none.
    /// - Throws: `MirrorError`: `notShown` has written the values, and the mirror does not show
    ///   them yet; `outcomeUnknown` may have; any other, such as `notConnected`, `malformedValue`,
    ///   `tooManyChanges` and `tooLarge`, has written nothing.
    @discardableResult
    public func set(_ values: [MirrorKey: Value]) async throws -> Int64 {
        var request = Etcdserverpb_TxnRequest()
        for (key, value) in values {
            guard engine.range.contains(key) else {
                throw MirrorError(.invalidConfiguration, "the key '\(key)' is outside the mirror's range")
            }
            var put = Etcdserverpb_RequestOp()
            put.requestPut.key = Data(key.bytes)
            put.requestPut.value = Data(try store.encode(value))
            request.success.append(put)
        }
        guard !values.isEmpty else { return position.value }
        let answer = try await withSession { [request] in try await $0.connection.transaction(request) }
        try await waitUntilShown(answer.header.revision)
        return answer.header.revision
    }
}
#endif
