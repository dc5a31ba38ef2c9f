// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird
import NIOHTTPTypes

/// Asks a client for the body that it keeps back until then: `Expect: 100-continue`.
///
/// A connection's requests are handled one after another, so that the answers before this one are
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
