// SPDX-License-Identifier: Apache-2.0

import Hummingbird

/// Gives every error answer a JSON body, `{"error": {"message": "…"}}`, also the router's own
/// answer for an unknown path.
struct ErrorBodies: RouterMiddleware {
    func handle(
        _ request: Request,
        context: EdgeContext,
        next: (Request, EdgeContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.body == nil {
            let message =
                error.status == .notFound
                ? "nothing is at \(request.method) \(request.uri.path)" : error.status.reasonPhrase
            throw HTTPError(error.status, headers: error.headers, message: message)
        }
    }
}
