// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Answers a request for another protocol (`Upgrade`, or the method `CONNECT`) like any other
/// request, and then closes its connection.
///
/// NIO's decoder decodes nothing after such a request. It would keep all bytes that the client
/// sends, without a limit.
final class UpgradeRefusal: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The number of requests without a complete answer.
    private var pending = 0
    /// Whether the newest request is the last one that is decoded, and whether its body is
    /// complete.
    private var isLast = false
    private var isComplete = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            pending += 1
            isLast = head.method == .connect || head.headerFields[.upgrade] != nil
        case .end: isComplete = isLast
        case .body: break
        }
        context.fireChannelRead(data)
    }

    /// Stops reading after the last request: later bytes stay in the system's buffers, which are
    /// limited.
    func read(context: ChannelHandlerContext) { if !isComplete { context.read() } }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let part = unwrapOutboundIn(data)
        if case .end = part { pending -= 1 }
        switch part {
        case .head(var head) where isLast && pending == 1:
            head.headerFields[.connection] = "close"
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end where isLast && pending == 0:
            context.writeAndFlush(data, promise: promise)
            context.close(promise: nil)
        default:
            context.write(data, promise: promise)
        }
    }
}

@available(*, unavailable)
extension UpgradeRefusal: Sendable {}
