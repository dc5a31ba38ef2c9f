// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird
import NIOHTTPTypes

/// Asks a client to send a body that waits for this: `Expect: 100-continue`.
///
/// The requests of a connection are handled one after the other, so the answers before this one are
/// complete.
struct ContinueMiddleware: RouterMiddleware {
    func handle(
        _ request: Request,
        context: EdgeContext,
        next: (Request, EdgeContext) async throws -> Response
    ) async throws -> Response {
        if request.headers[.expect]?.lowercased() == "100-continue" {
            try await context.channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue)))
        }
        return try await next(request, context)
    }
}
