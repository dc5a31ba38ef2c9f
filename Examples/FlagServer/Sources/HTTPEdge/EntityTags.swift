// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird

extension Request {
    /// The entity tags that the client expects: one of them must be the present one. Nil if the
    /// client expects nothing.
    ///
    /// `*` expects nothing, because every flag exists. A weak tag, `W/"…"`, equals no tag.
    package var expectedTags: [String]? {
        headers[.ifMatch].flatMap { given in
            let tags = tags(given)
            return tags.contains("*") ? nil : strong(tags)
        }
    }

    /// The entity tags of the contents that the client has; empty if it names none. Weak tags
    /// count, too, because proxies that compress make tags weak.
    package var knownTags: [String] {
        strong(tags(headers[.ifNoneMatch] ?? "").map { $0.hasPrefix("W/") ? String($0.dropFirst(2)) : $0 })
    }

    /// Whether the client accepts the present contents, although they may be old.
    package var acceptsStale: Bool { headers[.cacheControl]?.contains("max-stale") ?? false }

    private func tags(_ given: String) -> [String] { given.split(separator: ",").map { $0.filter { $0 != " " } } }

    private func strong(_ tags: [String]) -> [String] {
        tags.filter { $0.hasPrefix("\"") && $0.count > 1 }.map { String($0.dropFirst().dropLast()) }
    }

    /// The id of the last event that the client of a stream has seen.
    package var lastEventID: String? { headers[.lastEventID] }
}

extension HTTPField.Name {
    fileprivate static let lastEventID = Self("Last-Event-ID")!
}
