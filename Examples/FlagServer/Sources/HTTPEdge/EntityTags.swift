// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird

extension Request {
    /// The entity tags that the client accepts as the present one; nil if it expects nothing.
    ///
    /// `*` expects nothing: every flag is there. A weak tag, `W/"…"`, equals none.
    package var expectedTags: [String]? {
        headers[.ifMatch].flatMap { given in
            let tags = tags(given)
            return tags.contains("*") ? nil : strong(tags)
        }
    }

    /// The entity tags of what the client has; none if it does not say. A weak tag is as good:
    /// proxies that compress make tags weak.
    package var knownTags: [String] {
        strong(tags(headers[.ifNoneMatch] ?? "").map { $0.hasPrefix("W/") ? String($0.dropFirst(2)) : $0 })
    }

    /// Whether the client takes what there is, although it may be old.
    package var acceptsStale: Bool { headers[.cacheControl]?.contains("max-stale") ?? false }

    private func tags(_ given: String) -> [String] { given.split(separator: ",").map { $0.filter { $0 != " " } } }

    private func strong(_ tags: [String]) -> [String] {
        tags.filter { $0.hasPrefix("\"") && $0.count > 1 }.map { String($0.dropFirst().dropLast()) }
    }

    /// The last event that a client of a stream has seen.
    package var lastEventID: String? { headers[.lastEventID] }
}

extension HTTPField.Name {
    fileprivate static let lastEventID = Self("Last-Event-ID")!
}
