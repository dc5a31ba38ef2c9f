// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird

/// Says who may make changes. A change is every request except GET, HEAD and OPTIONS, and except
/// requests below a path that only reads.
package enum WritePolicy: Sendable {
    /// Every client that reaches the port. Use it for loopback.
    case anyone
    /// A client that has this token: `Authorization: Bearer TOKEN`.
    case token(String)
    case noOne
}

/// Refuses changes by clients that may not make them, and by pages of other origins.
struct WriteGuard: RouterMiddleware {
    let policy: WritePolicy
    /// The begin of the paths whose POST requests change nothing.
    let readOnlyPaths: [String]

    func handle(
        _ request: Request,
        context: EdgeContext,
        next: (Request, EdgeContext) async throws -> Response
    ) async throws -> Response {
        let reads =
            [.get, .head, .options].contains(request.method)
            || readOnlyPaths.contains { request.uri.path.hasPrefix($0) }
        if !reads {
            try checkOrigin(request)
            try checkToken(request)
        }
        return try await next(request, context)
    }

    /// A browser sends the origin of the page with all requests but the simplest GET.
    private func checkOrigin(_ request: Request) throws {
        guard let origin = request.headers[.origin], let host = request.head.authority else { return }
        guard origin == "http://\(host)" || origin == "https://\(host)" else {
            throw HTTPError(.forbidden, message: "a page of '\(origin)' changes nothing here")
        }
    }

    private func checkToken(_ request: Request) throws {
        switch policy {
        case .anyone: return
        case .noOne:
            throw HTTPError(.forbidden, message: "nothing can be changed: the server has no '--write-token-file'")
        case .token(let token):
            guard let given = request.headers[.authorization], Self.areEqual(given, "Bearer \(token)") else {
                throw HTTPError(
                    .unauthorized,
                    headers: [.wwwAuthenticate: "Bearer"],
                    message: "a change needs 'Authorization: Bearer TOKEN', with the server's token"
                )
            }
        }
    }

    /// Returns whether the texts are equal. It takes the same time for all texts of one length, so
    /// the time does not show how much of the token is right.
    private static func areEqual(_ one: String, _ other: String) -> Bool {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
