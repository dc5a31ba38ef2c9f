// SPDX-License-Identifier: Apache-2.0

#if HTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A server of one document, for the demonstration: with an entity tag, and with failures.
final class Server: Sendable {
    struct Content: Sendable {
        var (status, text, version, asked, sent) = (HTTPResponseStatus.ok, "", 0, 0, 0)

        mutating func replace(by text: String) { (self.text, version) = (text, version + 1) }

        mutating func answer(knowing tag: String?) -> (status: HTTPResponseStatus, text: String) {
            asked += 1
            guard status == .ok else { return (status, "") }
            if tag == "\(version)" { return (.notModified, "") }
            sent += 1
            return (.ok, text)
        }
    }

    let content = Mutex(Content())
    private let channel = Mutex<(any Channel)?>(nil)

    /// Starts it on a free port of this machine, and returns the document's address.
    func start() async throws -> String {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { [self] channel in
                channel.pipeline.configureHTTPServerPipeline().flatMapThrowing {
                    try channel.pipeline.syncOperations.addHandler(Handler(server: self))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        self.channel.withLock { $0 = channel }
        return "http://127.0.0.1:\(channel.localAddress!.port!)/document"
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let server: Server
        private var tag: String?

        init(server: Server) { self.server = server }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): tag = head.headers.first(name: "If-None-Match")
            case .body: break
            case .end:
                let (answer, version) = server.content.withLock { ($0.answer(knowing: tag), $0.version) }
                let headers: HTTPHeaders = ["ETag": "\(version)", "Content-Length": "\(answer.text.utf8.count)"]
                let head = HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers)
                context.write(wrapOutboundOut(.head(head)), promise: nil)
                let body = context.channel.allocator.buffer(string: answer.text)
                if answer.status == .ok { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}
#endif
