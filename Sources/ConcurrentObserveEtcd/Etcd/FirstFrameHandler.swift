// SPDX-License-Identifier: Apache-2.0

#if Etcd
import NIOCore
import NIOHTTP2

/// The error of a connection to a server that does not speak HTTP/2.
struct NotHTTP2: Error, CustomStringConvertible {
    let beginning: String
    var description: String { "the server does not speak HTTP/2: it says '\(beginning)'" }
}

/// Checks the first bytes that a server sends. In HTTP/2, these are a settings frame. If they are
/// not, the handler reports an error, and closes the connection. Without the handler, it would look
/// as if there were no server.
final class FirstFrameHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let settingsType: UInt8 = 4

    private var pending = ByteBuffer()

    /// Adds the handler to a client's connection, in front of the HTTP/2 handler.
    static func add(to channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let http = try pipeline.handler(type: NIOHTTP2Handler.self)
            try pipeline.addHandler(FirstFrameHandler(), position: .before(http))
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        pending.writeImmutableBuffer(unwrapInboundIn(data))
        // A frame begins with three bytes of length, and one byte of type.
        guard let type: UInt8 = pending.getInteger(at: pending.readerIndex + 3) else { return }
        guard type == Self.settingsType else {
            let text = String(decoding: pending.readableBytesView.prefix(60), as: UTF8.self)
            let line = text.prefix { !$0.isNewline }.map { $0.asciiValue ?? 0 >= 0x20 ? $0 : "." }
            context.fireErrorCaught(NotHTTP2(beginning: String(line)))
            context.close(promise: nil)
            return
        }
        context.fireChannelRead(wrapInboundOut(pending))
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
}

@available(*, unavailable)
extension FirstFrameHandler: Sendable {}
#endif
