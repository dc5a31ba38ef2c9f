// SPDX-License-Identifier: Apache-2.0

import Hummingbird

/// Leaves out the body of an error that answers HEAD: a client would take it for the beginning of
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
