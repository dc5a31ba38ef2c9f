// SPDX-License-Identifier: Apache-2.0

#if Etcd
@testable import ConcurrentObserveEtcd
import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix

/// A client of the tests' own, which knows nothing of mirrors.
struct TestClient: Sendable {
    let client: EtcdConnection.Client

    static func with<Result: Sendable>(
        _ url: String,
        _ tls: EtcdConfiguration.TLS? = nil,
        _ body: @Sendable (TestClient) async throws -> Result
    ) async throws -> Result {
        var configuration = EtcdConfiguration(endpoints: [url])
        if let tls { configuration.tls = tls }
        let client = try EtcdConnection.makeClient(EtcdEndpoint(url), configuration)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await client.runConnections() }
            defer { group.cancelAll() }
            return try await body(TestClient(client: client))
        }
    }

    private var options: CallOptions {
        var options = CallOptions.defaults
        options.timeout = .seconds(3)
        return options
    }

    private var store: Etcdserverpb_KV.Client<HTTP2ClientTransport.Posix> { Etcdserverpb_KV.Client(wrapping: client) }

    enum Operation: Sendable {
        case put(String, String)
        case delete(String)
    }

    /// - Returns: The revision.
    @discardableResult
    func commit(_ operations: [Operation]) async throws -> Int64 {
        var request = Etcdserverpb_TxnRequest()
        request.success = operations.map { operation in
            var result = Etcdserverpb_RequestOp()
            switch operation {
            case .put(let key, let value):
                result.requestPut.key = Data(key.utf8)
                result.requestPut.value = Data(value.utf8)
            case .delete(let key):
                result.requestDeleteRange.key = Data(key.utf8)
            }
            return result
        }
        return try await store.txn(request, options: options).header.revision
    }

    @discardableResult
    func put(_ key: String, _ value: String, lease: Int64 = 0) async throws -> Int64 {
        try await put(key, Data(value.utf8), lease: lease)
    }

    @discardableResult
    func put(_ key: String, _ value: Data, lease: Int64 = 0) async throws -> Int64 {
        var request = Etcdserverpb_PutRequest()
        request.key = Data(key.utf8)
        request.value = value
        request.lease = lease
        return try await store.put(request, options: options).header.revision
    }

    @discardableResult
    func delete(_ key: String) async throws -> Int64 { try await commit([.delete(key)]) }

    func compact(_ revision: Int64) async throws {
        var request = Etcdserverpb_CompactionRequest()
        request.revision = revision
        request.physical = true
        _ = try await store.compact(request, options: options)
    }

    /// Keys with values and revisions, by a linearizable read.
    func list(_ prefix: String) async throws -> (revision: Int64, values: [String: Shown]) {
        let answer = try await store.range(EtcdRange.prefix(MirrorKey(prefix)).request, options: options)
        var values: [String: Shown] = [:]
        for pair in answer.kvs {
            values[String(decoding: pair.key, as: UTF8.self)] = Shown(
                value: String(decoding: pair.value, as: UTF8.self),
                revision: pair.modRevision
            )
        }
        return (answer.header.revision, values)
    }

    func status() async throws -> Etcdserverpb_StatusResponse {
        try await Etcdserverpb_Maintenance.Client(wrapping: client)
            .status(Etcdserverpb_StatusRequest(), options: options)
    }

    func lease(seconds: Int64) async throws -> Int64 {
        var request = Etcdserverpb_LeaseGrantRequest()
        request.ttl = seconds
        return try await Etcdserverpb_Lease.Client(wrapping: client).leaseGrant(request, options: options).id
    }
}

/// A key's value with its revision.
struct Shown: Sendable, Hashable {
    let value: String
    let revision: Int64
}

extension MirrorContents where Value == String {
    var shown: [String: Shown] {
        Dictionary(
            uniqueKeysWithValues: entries.map {
                ($0.key.description, Shown(value: $0.value.value, revision: $0.value.revision))
            }
        )
    }
}
#endif
