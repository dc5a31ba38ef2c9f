// SPDX-License-Identifier: Apache-2.0

import Hummingbird

extension RouterMethods {
    /// Answers GET, and HEAD alike, but for the body.
    ///
    /// The router's own option of that kind answers HEAD outside the middleware, which then counts
    /// each as a request that never ends.
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
