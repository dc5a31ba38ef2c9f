// SPDX-License-Identifier: Apache-2.0

import Hummingbird

extension RouterMethods {
    /// Answers GET, and HEAD in the same way without the body.
    ///
    /// The router has an option for this, but it answers HEAD outside the middleware, which then
    /// counts each of these requests as one that never ends.
    @discardableResult
    package func read(
        _ path: RouterPath = "",
        use handler: @escaping @Sendable (Request, Context) async throws -> some ResponseGenerator
    ) -> Self {
        get(path, use: handler)
        return head(path) { request, context in
            try await handler(request, context).response(from: request, context: context).createHeadResponse()
        }
    }
}
