// SPDX-License-Identifier: Apache-2.0

#if Etcd
@testable import ConcurrentObserveEtcd
import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Synchronization

/// A server that says what a test wants: what no etcd would.
struct ScriptedServer: Sendable {
    typealias Watcher = @Sendable (RPCWriter<Etcdserverpb_WatchResponse>) async throws -> Void

    var keys: [String] = ["/t/a"]
    /// The keys in everything but the first list: the server has lost events.
    var laterKeys: [String]?
    var rangeDelay = Duration.zero
    /// The revision of a list or a probe. `keyRevision` is the keys' revision.
    var listRevision: @Sendable () -> Int64 = { 10 }
    var keyRevision: Int64 = 5
    /// How many keys a page has at most, whatever is asked for; nil for what is asked for.
    var mostKeys: Int?
    /// Whether every page says that there is another, and is the same.
    var repeatsPages = false
    /// The error that every list ends with.
    var rangeError: RPCError?
    /// How many keys the server claims to have; nil for the truth.
    var count: Int64?
    /// Sends the messages that follow the creation of the watch.
    var watch: Watcher
    var onProgressRequest: @Sendable () -> Void = {}

    /// Runs the server beside a test's body.
    func run(_ body: (_ url: String) async throws -> Void) async throws {
        let port = EtcdCluster.freePorts(1)[0]
        let server = GRPCServer(
            transport: .http2NIOPosix(address: .ipv4(host: "127.0.0.1", port: port), transportSecurity: .plaintext),
            services: [Store(script: self), Watches(script: self), Maintenance()]
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.serve() }
            // Not by cancellation: a server of gRPC that is cancelled traps, if it has accepted a
            // connection that it does not serve yet.
            defer { server.beginGracefulShutdown() }
            // A mirror that comes before the server listens would have a session that ends at once.
            _ = try await server.listeningAddress
            try await body("http://127.0.0.1:\(port)")
        }
    }

    static var header: Etcdserverpb_ResponseHeader {
        var header = Etcdserverpb_ResponseHeader()
        header.clusterID = 1
        header.revision = 10
        return header
    }

    static func event(_ key: String, _ revision: Int64) -> Etcdserverpb_Event {
        var event = Etcdserverpb_Event()
        event.kv.key = Data(key.utf8)
        event.kv.value = Data("x".utf8)
        event.kv.modRevision = revision
        return event
    }

    static func message(_ events: [Etcdserverpb_Event], watch: Int64 = 0) -> Etcdserverpb_WatchResponse {
        var message = Etcdserverpb_WatchResponse()
        message.header = header
        message.watchID = watch
        message.events = events
        return message
    }

    /// Runs a body until it ends, the client has gone, or the server goes down.
    private static func untilCancelled(
        _ context: ServerContext,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body() }
            group.addTask { try await context.cancellation.cancelled }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private struct Store: Etcdserverpb_KV.SimpleServiceProtocol {
        let script: ScriptedServer
        private let lists = Lists()

        init(script: ScriptedServer) { self.script = script }

        private final class Lists: Sendable { let count = Mutex(0) }

        private func keys(_ request: Etcdserverpb_RangeRequest) -> [String] {
            // A probe reads one key; a comparison reads a revision.
            let isList = request.revision == 0 && !request.rangeEnd.isEmpty
            let count = lists.count.withLock { count in
                if isList { count += 1 }
                return count
            }
            return count == 1 && isList ? script.keys : script.laterKeys ?? script.keys
        }

        func range(request: Etcdserverpb_RangeRequest, context: ServerContext) async throws
            -> Etcdserverpb_RangeResponse
        {
            try await untilCancelled(context) { try await Task.sleep(for: script.rangeDelay) }
            if let error = script.rangeError { throw error }
            var answer = Etcdserverpb_RangeResponse()
            answer.header = header
            answer.header.revision = script.listRevision()
            var keys = keys(request)
            if let most = script.mostKeys {
                let first = MirrorKey(Array(request.key))
                let rest = keys.filter { MirrorKey($0) >= first }
                keys = Array(rest.prefix(most))
                answer.more = rest.count > most
            }
            answer.kvs = keys.map { event($0, script.keyRevision).kv }
            if script.repeatsPages { answer.more = true }
            answer.count = script.count ?? Int64(answer.kvs.count)
            return answer
        }
        func put(request: Etcdserverpb_PutRequest, context: ServerContext) async throws -> Etcdserverpb_PutResponse {
            Etcdserverpb_PutResponse()
        }
        func deleteRange(
            request: Etcdserverpb_DeleteRangeRequest,
            context: ServerContext
        ) async throws -> Etcdserverpb_DeleteRangeResponse { Etcdserverpb_DeleteRangeResponse() }
        func txn(request: Etcdserverpb_TxnRequest, context: ServerContext) async throws -> Etcdserverpb_TxnResponse {
            Etcdserverpb_TxnResponse()
        }
        func compact(
            request: Etcdserverpb_CompactionRequest,
            context: ServerContext
        ) async throws -> Etcdserverpb_CompactionResponse { Etcdserverpb_CompactionResponse() }
    }

    private struct Watches: Etcdserverpb_Watch.SimpleServiceProtocol {
        let script: ScriptedServer

        func watch(
            request: RPCAsyncSequence<Etcdserverpb_WatchRequest, any Error>,
            response: RPCWriter<Etcdserverpb_WatchResponse>,
            context: ServerContext
        ) async throws {
            var created = message([])
            created.created = true
            try await response.write(created)
            try await untilCancelled(context) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for try await message in request {
                            if case .progressRequest? = message.requestUnion { script.onProgressRequest() }
                        }
                    }
                    try await script.watch(response)
                    group.cancelAll()
                }
            }
        }
    }

    private struct Maintenance: Etcdserverpb_Maintenance.SimpleServiceProtocol {
        func status(request: Etcdserverpb_StatusRequest, context: ServerContext) async throws
            -> Etcdserverpb_StatusResponse
        {
            var answer = Etcdserverpb_StatusResponse()
            answer.version = "3.6.0"
            return answer
        }
    }
}
#endif
