// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird

extension Request {
    /// The entity tags of which the client expects one to be the present one; nil if it expects nothing.
    ///
    /// `*` expects nothing: every flag is there. A weak tag, `W/"…"`, equals none.
    package var expectedTags: [String]? {
        headers[.ifMatch].flatMap { given in
            let tags = given.split(separator: ",").map { $0.filter { $0 != " " } }
            return tags.contains("*")
                ? nil : tags.filter { $0.hasPrefix("\"") && $0.count > 1 }.map { String($0.dropFirst().dropLast()) }
        }
    }

    /// The last event that a client of a stream has seen.
    package var lastEventID: String? { headers[.lastEventID] }
}

extension HTTPField.Name {
    fileprivate static let lastEventID = Self("Last-Event-ID")!
}
