// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTPTypes

/// Closes a connection with too many requests that wait for their answers.
///
/// NIO decodes all bytes that it has read at once. A decoded request takes a hundred times as many
/// bytes as the client has sent for it.
final class PipelineLimit: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let most: Int
    private var waiting = 0

    init(_ most: Int) { self.most = most }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Parts that were read together with one request too many come after the connection is
        // closed, too.
        guard waiting <= most else { return }
        if case .head = unwrapInboundIn(data) { waiting += 1 }
        if waiting <= most { context.fireChannelRead(data) } else { context.close(promise: nil) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data), waiting <= most { waiting -= 1 }
        context.write(data, promise: promise)
    }
}

@available(*, unavailable)
extension PipelineLimit: Sendable {}
