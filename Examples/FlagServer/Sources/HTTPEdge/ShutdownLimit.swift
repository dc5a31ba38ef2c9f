// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Closes its connection if this has not ended by itself some time after the service began to shut
/// down.
///
/// A client that does not read, or that has sent half a request, would otherwise keep the service
/// running.
package final class ShutdownLimit: ChannelInboundHandler, RemovableChannelHandler {
    // The handler uses no data.
    package typealias InboundIn = Never

    private let limit: TimeAmount
    private var closing: Scheduled<Void>?

    package init(_ limit: TimeAmount) { self.limit = limit }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent, closing == nil {
            let channel = context.channel
            closing = context.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        closing?.cancel()
        context.fireChannelInactive()
    }
}

@available(*, unavailable)
extension ShutdownLimit: Sendable {}
