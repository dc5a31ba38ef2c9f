// SPDX-License-Identifier: Apache-2.0

import Foundation
import Hummingbird
import NIOCore

/// What a request knows of its surroundings: the connection too, for the streams.
struct FlagRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}

extension FlagRequestContext {
    /// The flag that the path names: `dark%2Dmode` is `dark-mode`.
    var flagName: String {
        get throws {
            let given = try parameters.require("name")
            return given.removingPercentEncoding ?? given
        }
    }
}
