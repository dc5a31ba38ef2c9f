// SPDX-License-Identifier: Apache-2.0

#if Etcd
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Foundation

/// The calls of one session, at one endpoint. Every error is an `EtcdMirrorError`.
final class EtcdConnection: Sendable {
    typealias Client = GRPCClient<HTTP2ClientTransport.Posix>

    let endpoint: Endpoint
    private let client: Client
    private let configuration: EtcdConfiguration
    private let token = Shared("")

    init(client: Client, endpoint: Endpoint, configuration: EtcdConfiguration) {
        self.client = client
        self.endpoint = endpoint
        self.configuration = configuration
    }

    static func makeClient(_ endpoint: Endpoint, _ configuration: EtcdConfiguration) throws -> Client {
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
                    // The mirror waits between sessions itself.
                    config.backoff.initial = .seconds(1)
                    config.channelDebuggingCallbacks.onCreateTCPConnection = PingHandler.add
                    config.connection.keepalive = .init(
                        time: .seconds(20),
                        timeout: .seconds(5),
                        allowWithoutCalls: false
                    )
                }
            )
            return GRPCClient(transport: transport)
        } catch {
            throw EtcdMirrorError(.invalidConfiguration, "\(error)", endpoint: "\(endpoint)")
        }
    }

    // MARK: - Calls

    /// Gets the token that the other calls carry. Does nothing without credentials.
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

    /// The server's version, or nil if it does not say.
    func version() async throws -> ServerVersion? {
        let answer = try await call {
            try await Etcdserverpb_Maintenance.Client(wrapping: self.client)
                .status(Etcdserverpb_StatusRequest(), metadata: self.metadata, options: self.options)
        }
        return ServerVersion(answer.version)
    }

    func range(_ request: Etcdserverpb_RangeRequest) async throws -> Etcdserverpb_RangeResponse {
        try await call {
            try await Etcdserverpb_KV.Client(wrapping: self.client)
                .range(request, metadata: self.metadata, options: self.options)
        }
    }

    /// - Throws: Also an error of the code `outcomeUnknown`.
    func transaction(_ request: Etcdserverpb_TxnRequest) async throws -> Etcdserverpb_TxnResponse {
        do {
            return try await call {
                try await Etcdserverpb_KV.Client(wrapping: self.client)
                    .txn(request, metadata: self.metadata, options: self.options)
            }
        } catch let error as EtcdMirrorError where error.code == .unreachable || error.code == .noLeader {
            throw EtcdMirrorError(
                .outcomeUnknown,
                "the change was made, or not: \(error.message)",
                endpoint: error.endpoint
            )
        }
    }

    /// Watches until it throws.
    func watch(
        requests: @escaping @Sendable (RPCWriter<Etcdserverpb_WatchRequest>) async throws -> Void,
        receive: @escaping @Sendable (WatchMessage) async throws -> Void
    ) async throws {
        var options = CallOptions.defaults
        options.waitForReady = false
        options.maxResponseMessageBytes = configuration.maximumMessageBytes
        // A member without a leader ends the watch, instead of leaving it silent.
        var metadata = metadata
        metadata.addString("true", forKey: "hasleader")
        try await call { [options, metadata] in
            try await Etcdserverpb_Watch.Client(wrapping: self.client)
                .watch(metadata: metadata, options: options, requestProducer: requests) { response in
                    for try await message in response.messages { try await receive(WatchMessage(message)) }
                }
        }
        throw EtcdMirrorError(.unreachable, "the server has ended the watch", endpoint: "\(endpoint)")
    }

    // MARK: - What calls have in common

    private var options: CallOptions {
        var options = CallOptions.defaults
        options.timeout = configuration.requestTimeout
        options.waitForReady = false
        options.maxResponseMessageBytes = configuration.maximumMessageBytes
        return options
    }

    private var metadata: Metadata {
        let token = token.withLock { $0 }
        return token.isEmpty ? [:] : ["token": .string(token)]
    }

    private func call<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as EtcdMirrorError {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch let error as RPCError {
            if Task.isCancelled { throw CancellationError() }
            throw EtcdMirrorError.ofCall(error, endpoint)
        } catch let error as RuntimeError {
            throw EtcdMirrorError(.unreachable, "\(error)", endpoint: "\(endpoint)")
        }
    }
}

/// The version of a server, of which the mirror asks one thing.
struct ServerVersion: Sendable, Equatable {
    let parts: [Int]

    init?(_ text: String) {
        let numbers = text.prefix { $0.isNumber || $0 == "." }.split(separator: ".").compactMap { Int($0) }
        guard numbers.count == 3 else { return nil }
        parts = numbers
    }

    /// Whether answers to progress requests keep their place among the events: etcd #15220.
    var ordersProgressAnswers: Bool {
        switch (parts[0], parts[1]) {
        case (3, ..<4): false
        case (3, 4): parts[2] >= 25
        case (3, 5): parts[2] >= 8
        default: parts[0] >= 3
        }
    }
}

extension EtcdMirrorError {
    /// An error of a call. The codes alone do not suffice: etcd gives several meanings to some.
    static func ofCall(_ error: RPCError, _ endpoint: Endpoint) -> EtcdMirrorError {
        let text = error.message
        let code: Code =
            switch error.code {
            case _ where text.contains("etcdserver: "): ofEtcd(text).code
            case .unavailable, .deadlineExceeded, .cancelled: .unreachable
            case .unauthenticated: .unauthenticated
            case .permissionDenied: .permissionDenied
            case .unimplemented, .unknown, .internalError, .dataLoss: .notEtcd
            default: .other
            }
        return EtcdMirrorError(code, "\(error.code): \(text)", endpoint: "\(endpoint)")
    }

    /// An error by etcd's own text.
    static func ofEtcd(_ text: String) -> EtcdMirrorError {
        let known: [(String, Code)] = [
            ("permission denied", .permissionDenied), ("user name is empty", .unauthenticated),
            ("authentication failed", .unauthenticated), ("authentication is not enabled", .unauthenticated),
            ("invalid auth token", .unauthenticated), ("auth", .unauthenticated), ("no leader", .noLeader),
            ("leader changed", .noLeader), ("request timed out", .unreachable), ("server stopped", .unreachable),
        ]
        return EtcdMirrorError(known.first { text.contains($0.0) }?.1 ?? .other, text)
    }

    var isOfCompaction: Bool { message.contains("has been compacted") }
    var isOfFutureRevision: Bool { message.contains("is a future revision") }
    var isOfSize: Bool { message.contains("resourceExhausted") }
}
#endif
