// SPDX-License-Identifier: Apache-2.0

#if Flagd
import ConcurrentObserve
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import HTTPEdge
import Logging
import NIOCore
import ServiceLifecycle

/// Serves flagd's sync protocol, `flagd.sync.v1.FlagSyncService`. OpenFeature's providers for flagd
/// get the flags through it, and evaluate them in their own processes.
///
/// A client receives all flags as soon as the source has sent them, and all flags again after each
/// commit, in order, with one message for each. If a client is more than a thousand commits behind,
/// the oldest ones are left out for it. The server has one set of flags, so it ignores the selector
/// of a request.
///
/// gRPC's clients send a ping with the messages that they read, and NIO's HTTP/2 ends a connection
/// with more than 200 pings in 30 seconds. `PingHandler` answers the pings that the server's own
/// messages have caused, so flags may change at any rate.
package struct FlagdSync<State: Sendable>: Service {
    private let provider: FlagProvider<State>
    private let host: String
    private let port: Int
    private let shutdownLimit, idleLimit: TimeAmount
    private let connections: ConnectionLimit
    private let logger: Logger

    /// Makes the service.
    ///
    /// - Parameters:
    ///   - port: The port at the edge's host; 0 for any free port.
    ///   - edge: Its limits apply here, too. Each provider has a connection, so a quarter of the
    ///     edge's connections become theirs.
    package init(_ provider: FlagProvider<State>, port: Int, sharing edge: inout Edge) {
        let share = max(edge.connectionLimit / 4, 1)
        edge.connectionLimit -= share
        (self.provider, host, self.port) = (provider, edge.host, port)
        (shutdownLimit, idleLimit, logger) = (edge.shutdownLimit, edge.idleLimit, edge.logger)
        connections = ConnectionLimit(share, logger: edge.logger)
    }

    package func run() async throws {
        let (limit, idle, connections) = (shutdownLimit, idleLimit, connections)
        let server = GRPCServer(
            transport: .http2NIOPosix(
                address: try address,
                transportSecurity: .plaintext,
                config: .defaults { config in
                    config.connection.maxIdleTime = .nanoseconds(idle.nanoseconds)
                    // A client without requests answers pings, and so it is not silent.
                    config.connection.keepalive.time = .nanoseconds(idle.nanoseconds / 2)
                    config.channelDebuggingCallbacks.onBindTCPListener = { channel in
                        channel.eventLoop.makeCompletedFuture { try connections.add(to: channel) }
                    }
                    config.channelDebuggingCallbacks.onAcceptTCPConnection = { channel in
                        channel.eventLoop.makeCompletedFuture {
                            try PingHandler.add(to: channel)
                            try SilenceLimit.add(idle, to: channel)
                            try channel.pipeline.syncOperations.addHandler(ShutdownLimit(limit), position: .first)
                        }
                    }
                }
            ),
            services: [self]
        )
        try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    do {
                        try await server.serve()
                    } catch let error as RuntimeError {
                        throw CannotListen(host: host, port: port, cause: error.cause ?? error)
                    }
                }
                // Without an address it cannot listen. The task above reports why.
                switch try? await server.listeningAddress {
                case let address? where address.ipv4 != nil || address.ipv6 != nil:
                    let port = address.ipv4?.port ?? address.ipv6?.port ?? port
                    logger.info("flagd's protocol at \(host):\(port)")
                default: break
                }
                try await group.waitForAll()
            }
        } onGracefulShutdown: {
            server.beginGracefulShutdown()
        }
    }

    /// The address on which it listens. A name stands for its first address, as for the other port.
    private var address: GRPCNIOTransportHTTP2Posix.SocketAddress {
        get throws {
            let resolved: NIOCore.SocketAddress
            do {
                resolved = try .makeAddressResolvingHost(host, port: port)
            } catch {
                throw CannotListen(host: host, port: port, cause: error)
            }
            let address = resolved.ipAddress ?? host
            return resolved.protocol == .inet6 ? .ipv6(host: address, port: port) : .ipv4(host: address, port: port)
        }
    }

    /// Sends all flags, at once and after each commit, until the client goes or the service shuts
    /// down.
    private func sync(to writer: RPCWriter<FlagdMessage>, _ context: ServerContext) async throws {
        let known = provider.hasFlags.values(options: .initial).cancelOnGracefulShutdown()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                guard await known.contains(true) else { return }
                await provider.catchUp()
                for await commit in provider.commits.cancelOnGracefulShutdown() {
                    try await writer.write(.configuration(provider.show(commit.new).flagdConfiguration))
                }
            }
            group.addTask { try await context.cancellation.cancelled }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}

extension FlagdSync: RegistrableRPCService {
    package func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
        register("SyncFlags", with: &router) { context in
            StreamingServerResponse { writer in
                try await sync(to: writer, context)
                return [:]
            }
        }
        register("FetchAllFlags", with: &router) { _ in
            guard provider.hasFlags.value else {
                let error = RPCError(code: .unavailable, message: "there were no flags from the source yet")
                return StreamingServerResponse(single: ServerResponse(error: error))
            }
            await provider.catchUp()
            return StreamingServerResponse(
                single: ServerResponse(message: .configuration(provider.present.flagdConfiguration))
            )
        }
        register("GetMetadata", with: &router) { _ in
            StreamingServerResponse(single: ServerResponse(message: .noMetadata))
        }
    }

    private func register<Transport: ServerTransport>(
        _ method: String,
        with router: inout RPCRouter<Transport>,
        _ answer: @escaping @Sendable (ServerContext) async throws -> StreamingServerResponse<FlagdMessage>
    ) {
        router.registerHandler(
            forMethod: MethodDescriptor(fullyQualifiedService: "flagd.sync.v1.FlagSyncService", method: method),
            deserializer: IgnoredRequest(),
            serializer: FlagdMessage.Serializer()
        ) { _, context in try await answer(context) }
    }
}

/// An answer of the protocol, encoded as protobuf.
private struct FlagdMessage: Sendable {
    let bytes: [UInt8]

    /// `SyncFlagsResponse` and `FetchAllFlagsResponse`: field 1 is the configuration as text.
    static func configuration(_ text: String) -> FlagdMessage {
        var bytes: [UInt8] = [1 << 3 | 2]
        var count = text.utf8.count
        while count > 0x7F {
            bytes.append(UInt8(count & 0x7F) | 0x80)
            count >>= 7
        }
        bytes.append(UInt8(count))
        bytes += text.utf8
        return FlagdMessage(bytes: bytes)
    }

    /// `GetMetadataResponse`: field 2 is a structure without members.
    static var noMetadata: FlagdMessage { FlagdMessage(bytes: [2 << 3 | 2, 0]) }

    struct Serializer: MessageSerializer {
        func serialize<Bytes: GRPCContiguousBytes>(_ message: FlagdMessage) -> Bytes { Bytes(message.bytes) }
    }
}

/// Requests say who asks, and select from several sets. This server has only one.
private struct IgnoredRequest: MessageDeserializer {
    func deserialize<Bytes: GRPCContiguousBytes>(_: Bytes) {}
}
#endif
