// SPDX-License-Identifier: Apache-2.0

import Hummingbird
import NIOCore

extension Router<EdgeContext> {
    /// Answers GET with a stream of server-sent events, and HEAD with the head of that answer.
    ///
    /// - Parameter run: Sends events while the stream goes on. Its parameter returns when the
    ///   client can take more.
    package func stream(
        _ path: RouterPath,
        _ run: @escaping @Sendable (Request, _ send: (ByteBuffer) async throws -> Void) async throws -> Void
    ) {
        read(path) { request, context in EventResponse.make(request, context) { try await run(request, $0) } }
    }
}

/// Makes the answer that is a stream of server-sent events.
private enum EventResponse {
    /// The number of bytes that the system keeps for a client that does not read. If it was larger,
    /// such a client would only read older events later.
    static let sendBuffer = 32 * 1_024

    static func make(
        _ request: Request,
        _ context: EdgeContext,
        _ run: @escaping @Sendable (_ send: (ByteBuffer) async throws -> Void) async throws -> Void
    ) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                try await context.channel.setOption(.socketOption(.so_sndbuf), value: sendBuffer).get()
                // The client goes: the connection is closed.
                try await request.body.consumeWithCancellationOnInboundClose { _ in
                    try await run { event in
                        try await writer.write(event)
                        // A write is done when the event loop has done it.
                        // So at most one of each stream waits there.
                        try await context.channel.eventLoop.submit {}.get()
                    }
                }
                try await writer.finish(nil)
            }
        )
    }
}
