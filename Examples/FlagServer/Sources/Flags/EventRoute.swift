// SPDX-License-Identifier: Apache-2.0

import Hummingbird
import NIOCore

/// `GET /events`.
struct EventRoute: Sendable {
    /// What the system keeps for a client that does not read, in bytes. More would only make what it reads later older.
    static let sendBuffer = 32 * 1_024

    let stream: EventStream

    func add(to router: Router<FlagRequestContext>) {
        router.get("events") { request, context in
            Response(
                status: .ok,
                headers: [.contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store"],
                body: ResponseBody { writer in
                    try await context.channel.setOption(.socketOption(.so_sndbuf), value: Self.sendBuffer).get()
                    // The client goes: the connection is closed.
                    try await request.body.consumeWithCancellationOnInboundClose { _ in
                        try await stream.run { event in
                            try await writer.write(event.encoded)
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
}
