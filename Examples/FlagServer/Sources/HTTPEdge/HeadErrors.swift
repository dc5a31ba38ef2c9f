// SPDX-License-Identifier: Apache-2.0

import Hummingbird

/// Removes the body of an error that answers HEAD. A client would take the body for the begin of
/// the next answer.
struct HeadErrors: RouterMiddleware {
    func handle(
        _ request: Request,
        context: EdgeContext,
        next: (Request, EdgeContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as any HTTPResponseError where request.method == .head {
            return try error.response(from: request, context: context).createHeadResponse()
        }
    }
}
