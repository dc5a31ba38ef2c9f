// SPDX-License-Identifier: Apache-2.0

#if Flagd
import NIOCore

/// Closes its connection if the client has sent nothing for some time, not even answers to pings.
///
/// gRPC asks such a client to go, and waits for its answer.
package final class SilenceLimit: ChannelInboundHandler {
    // The handler uses no data.
    package typealias InboundIn = Never

    /// Adds the limit to a connection, before all other handlers.
    package static func add(_ limit: TimeAmount, to channel: any Channel) throws {
        let handlers: [any ChannelHandler] = [IdleStateHandler(readTimeout: limit), SilenceLimit()]
        try channel.pipeline.syncOperations.addHandlers(handlers, position: .first)
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }
}
#endif
