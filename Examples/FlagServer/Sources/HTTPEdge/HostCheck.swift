// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird

/// Refuses a request that does not name its host exactly once, or that names another host.
///
/// A page of another site may give its own name the address of this server. Its requests then have
/// the name of the page as their host.
struct HostCheck: RouterMiddleware {
    /// The allowed names, without ports; nil for any.
    let allowed: Set<String>?
    /// The fields after the first.
    private static let another = HTTPField.Name("Host")!

    init(allowed: Set<String>?) { self.allowed = allowed }

    func handle(
        _ request: Request,
        context: EdgeContext,
        next: (Request, EdgeContext) async throws -> Response
    ) async throws -> Response {
        // The first field is the authority of the request.
        guard let host = request.head.authority, !host.isEmpty, request.headers[Self.another] == nil else {
            throw HTTPError(.badRequest, message: "a request has one 'Host'")
        }
        guard allowed?.contains(Self.name(host)) ?? true else {
            throw HTTPError(.misdirectedRequest, message: "this server is not '\(Self.name(host))'")
        }
        return try await next(request, context)
    }

    /// Returns the host without its port: `[::1]:8080` becomes `[::1]`.
    static func name(_ host: String) -> String {
        guard let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") else { return host.lowercased() }
        return host[..<colon].lowercased()
    }
}
