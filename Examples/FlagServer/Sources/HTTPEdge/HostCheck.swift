// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird

/// Refuses a request that does not say, once, which host it means, or that means another.
///
/// A page elsewhere may give its own name this server's address. Its requests have the page's name
/// as their host.
struct HostCheck: RouterMiddleware {
    /// Names without ports; nil for any.
    let allowed: Set<String>?
    /// The fields after the first.
    private static let another = HTTPField.Name("Host")!

    init(allowed: Set<String>?) { self.allowed = allowed }

    func handle(
        _ request: Request,
        context: EdgeContext,
        next: (Request, EdgeContext) async throws -> Response
    ) async throws -> Response {
        // The first is the request's authority.
        guard let host = request.head.authority, !host.isEmpty, request.headers[Self.another] == nil else {
            throw HTTPError(.badRequest, message: "a request has one 'Host'")
        }
        guard allowed?.contains(Self.name(host)) ?? true else {
            throw HTTPError(.misdirectedRequest, message: "this server is not '\(Self.name(host))'")
        }
        return try await next(request, context)
    }

    /// The host without its port: `[::1]:8080` is `[::1]`.
    static func name(_ host: String) -> String {
        guard let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") else { return host.lowercased() }
        return host[..<colon].lowercased()
    }
}
