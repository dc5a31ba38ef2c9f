// SPDX-License-Identifier: Apache-2.0

import Foundation
import Hummingbird
import NIOCore

/// The context of a request. It includes the connection, for the streams.
package struct EdgeContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    package let channel: any Channel

    package init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}

extension EdgeContext {
    /// The part of the path that a route calls `name`: `dark%2Dmode` becomes `dark-mode`.
    package var name: String {
        get throws {
            let given = try parameters.require("name")
            return given.removingPercentEncoding ?? given
        }
    }
}
