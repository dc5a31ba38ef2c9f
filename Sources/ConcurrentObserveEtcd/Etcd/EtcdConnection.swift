// SPDX-License-Identifier: Apache-2.0

#if Etcd
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Foundation

/// Makes the gRPC calls of one session, at one endpoint. A call that fails throws `MirrorError`,
/// and a call that is cancelled throws `CancellationError`.
final class EtcdConnection: Sendable {
    typealias Client = GRPCClient<HTTP2ClientTransport.Posix>

    let endpoint: EtcdEndpoint
    private let client: Client
    let configuration: EtcdConfiguration
    let metrics: EtcdMetrics
    private let token = Shared("")

    init(client: Client, endpoint: EtcdEndpoint, configuration: EtcdConfiguration, metrics: EtcdMetrics) {
        self.client = client
        self.metrics = metrics
        self.endpoint = endpoint
        self.configuration = configuration
    }

    static func makeClient(_ endpoint: EtcdEndpoint, _ configuration: EtcdConfiguration) throws -> Client {
        let security: HTTP2ClientTransport.Posix.TransportSecurity =
            endpoint.isSecure
            ? .tls { tls in
                let files = configuration.tls
                if let path = files.certificateAuthorities {
                    tls.trustRoots = .certificates([.file(path: path, format: .pem)])
                }
                if let path = files.certificateChain { tls.certificateChain = [.file(path: path, format: .pem)] }
                if let path = files.privateKey { tls.privateKey = .file(path: path, format: .pem) }
            } : .plaintext
        let target: any ResolvableTarget =
            if endpoint.isIPv4 {
                .ipv4(address: endpoint.host, port: endpoint.port)
            } else if endpoint.isIPv6 {
                .ipv6(address: endpoint.host, port: endpoint.port)
            } else { .dns(host: endpoint.host, port: endpoint.port) }
        do {
            let transport = try HTTP2ClientTransport.Posix(
                target: target,
                transportSecurity: security,
                config: .defaults { config in
                    // The mirror itself pauses between sessions.
                    config.backoff.initial = .seconds(1)
                    config.channelDebuggingCallbacks.onCreateTCPConnection = { channel in
                        FirstFrameHandler.add(to: channel).flatMap { PingHandler.add(to: channel) }
                    }
                    config.connection.keepalive = .init(
                        time: .seconds(20),
                        // On a slow link, the answer to a ping takes as long as the answer to a
                        // request.
                        timeout: max(.seconds(5), configuration.requestTimeout, configuration.probeTimeout),
                        allowWithoutCalls: false
                    )
                }
            )
            return GRPCClient(transport: transport)
        } catch {
            throw MirrorError(.invalidConfiguration, "\(error)", server: "\(endpoint)")
        }
    }

    // MARK: - Calls

    /// Gets the token that the other calls carry. Does nothing if there are no credentials.
    func authenticate() async throws {
        guard let credentials = configuration.credentials else { return }
        var request = Etcdserverpb_AuthenticateRequest()
        request.name = credentials.name
        request.password = credentials.password
        let answer = try await call { [request] in
            try await Etcdserverpb_Auth.Client(wrapping: self.client).authenticate(request, options: self.options)
        }
        token.withLock { $0 = answer.token }
    }

    /// Returns the server's version. Nil if the server reports no version, or the user may not read
    /// it.
    func version() async throws -> ServerVersion? {
        do {
            let answer = try await callWithToken {
                try await Etcdserverpb_Maintenance.Client(wrapping: self.client)
                    .status(Etcdserverpb_StatusRequest(), metadata: self.metadata, options: self.options)
            }
            return ServerVersion(answer.version)
        } catch let error as MirrorError where error.code == .permissionDenied || error.code == .unauthenticated {
            return nil
        }
    }

    func range(_ request: Etcdserverpb_RangeRequest) async throws -> Etcdserverpb_RangeResponse {
        try await callWithToken {
            try await Etcdserverpb_KV.Client(wrapping: self.client)
                .range(request, metadata: self.metadata, options: self.options)
        }
    }

    /// Sends a transaction, and returns etcd's answer.
    ///
    /// - Throws: `MirrorError`. Its code is `outcomeUnknown` if the server does not answer, or the
    ///   leader is lost during the call: etcd may or may not have made the change.
    ///   `CancellationError` if the task is cancelled.
    func transaction(_ request: Etcdserverpb_TxnRequest) async throws -> Etcdserverpb_TxnResponse {
        do {
            return try await callWithToken {
                try await Etcdserverpb_KV.Client(wrapping: self.client)
                    .txn(request, metadata: self.metadata, options: self.options)
            }
        } catch let error as MirrorError where error.code == .unreachable || error.code == .noLeader {
            throw MirrorError(
                .outcomeUnknown,
                "the change was made, or not: \(error.message)",
                server: error.server
            )
        }
    }

    /// Watches until the watch ends, and then throws. `requests` writes the requests of the watch,
    /// and `receive` is called with each message from etcd.
    func watch(
        requests: @escaping @Sendable (RPCWriter<Etcdserverpb_WatchRequest>) async throws -> Void,
        receive: @escaping @Sendable (WatchMessage) async throws -> Void
    ) async throws {
        var options = options
        options.timeout = nil
        // With this header, a member that has no leader ends the watch. Otherwise the watch would
        // stay open and silent.
        var metadata = metadata
        metadata.addString("true", forKey: "hasleader")
        try await call { [options, metadata] in
            try await Etcdserverpb_Watch.Client(wrapping: self.client)
                .watch(metadata: metadata, options: options, requestProducer: requests) { response in
                    for try await message in response.messages { try await receive(WatchMessage(message)) }
                }
        }
        throw MirrorError(.unreachable, "the server has ended the watch", server: "\(endpoint)")
    }

    // MARK: - Common parts of the calls

    private var options: CallOptions {
        var options = CallOptions.defaults
        options.timeout = configuration.requestTimeout
        options.waitForReady = false
        options.maxResponseMessageBytes = configuration.maximumMessageBytes
        // The transport uses this limit for the messages that it receives.
        options.maxRequestMessageBytes = configuration.maximumMessageBytes
        return options
    }

    private var metadata: Metadata {
        let token = token.withLock { $0 }
        return token.isEmpty ? [:] : ["token": .string(token)]
    }

    /// Makes a call that carries the token. If etcd rejects the token, gets a new one, and makes
    /// the call again. The rejected call had no effect.
    private func callWithToken<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        do {
            return try await call(body)
        } catch let error as MirrorError where error.isOfToken && configuration.credentials != nil {
            metrics.tokens.increment()
            try await authenticate()
            return try await call(body)
        }
    }

    private func call<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as MirrorError {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch let error as RPCError {
            if Task.isCancelled { throw CancellationError() }
            throw MirrorError.ofCall(error, endpoint, maximum: configuration.maximumMessageBytes)
        } catch let error as RuntimeError {
            throw MirrorError(.unreachable, "\(error)", server: "\(endpoint)")
        }
    }
}
#endif
