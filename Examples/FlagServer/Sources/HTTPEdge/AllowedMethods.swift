// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird

/// Answers 405 with the possible methods, where the router would answer that there is no such path.
struct AllowedMethods: RouterMiddleware {
    private let routes: [(path: [Substring], method: HTTPRequest.Method)]

    /// Makes the middleware.
    ///
    /// - Parameter router: A router with the same routes.
    init(_ router: Router<EdgeContext>) {
        routes = router.routes.map { ("\($0.path)".split(separator: "/"), $0.method) }
    }

    func handle(
        _ request: Request,
        context: EdgeContext,
        next: (Request, EdgeContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound && error.body == nil {
            let methods = methods(at: request.uri.path)
            guard !methods.isEmpty else { throw error }
            throw HTTPError(
                .methodNotAllowed,
                headers: [.allow: methods.joined(separator: ", ")],
                message: "\(request.uri.path) has \(methods.joined(separator: ", ")), and not \(request.method)"
            )
        }
    }

    private func methods(at path: String) -> [String] {
        let parts = path.split(separator: "/")
        let found = routes.filter { route in
            route.path.count == parts.count
                && zip(route.path, parts).allSatisfy { $0 == $1 || $0.hasPrefix(":") || $0.hasPrefix("{") }
        }
        return Set(found.map(\.method.rawValue)).sorted()
    }
}
