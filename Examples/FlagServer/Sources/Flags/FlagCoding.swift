// SPDX-License-Identifier: Apache-2.0

import Hummingbird

/// `{"name": "dark-mode", "enabled": true, "rollout": 100, "version": 3}`
extension FlagState: ResponseEncodable {
    private enum CodingKeys: String, CodingKey { case name, enabled, rollout, version }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name.rawValue, forKey: .name)
        try container.encode(flag.isEnabled, forKey: .enabled)
        try container.encode(flag.rollout, forKey: .rollout)
        try container.encode(version, forKey: .version)
    }
}

/// `{"name": "checkout-open", "enabled": true}`
extension DerivedFlag: Encodable {
    private enum CodingKeys: String, CodingKey { case name, enabled }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(isEnabled, forKey: .enabled)
    }
}

/// `{"version": 3, "flags": […], "derived": […]}`
extension FlagSnapshot: ResponseEncodable {
    private enum CodingKeys: String, CodingKey { case version, flags, derived }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(version, forKey: .version)
        try container.encode(flags, forKey: .flags)
        try container.encode(derived, forKey: .derived)
    }
}

/// The body of a `PUT`: `{"enabled": true}`, or `{"enabled": true, "rollout": 25}`.
extension Flag: Decodable {
    private enum CodingKeys: String, CodingKey { case enabled, rollout }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        isEnabled = try container.decode(Bool.self, forKey: .enabled)
        rollout = try Flag.rollout(in: container)
        // A name that is misspelt would otherwise be a rollout to all.
        let members = try decoder.container(keyedBy: AnyMember.self)
        guard let unknown = members.allKeys.first(where: { CodingKeys(stringValue: $0.stringValue) == nil }) else {
            return
        }
        throw DecodingError.dataCorruptedError(forKey: unknown, in: members, debugDescription: Flag.unknownMember)
    }

    fileprivate static let unknownMember = "no such member"

    private static func rollout(in container: KeyedDecodingContainer<CodingKeys>) throws -> UInt8 {
        do {
            let share = try container.decodeIfPresent(Double.self, forKey: .rollout) ?? 100
            if let whole = UInt8(exactly: share), whole <= 100 { return whole }
        } catch DecodingError.dataCorrupted {
            // A number that is too large to be one.
        }
        throw DecodingError.dataCorruptedError(forKey: .rollout, in: container, debugDescription: "it is no share")
    }

    /// A member of any name.
    private struct AnyMember: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension DecodingError {
    /// One line for the sender of the body. Names the flag, too, where the body has several.
    var explanation: String {
        switch self {
        case .keyNotFound(let key, let context): "'\((context.codingPath + [key]).text)' is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            context.codingPath.isEmpty
                ? "the body is not an object" : "'\(context.codingPath.text)' has the wrong type"
        case .dataCorrupted(let context) where context.debugDescription == Flag.unknownMember:
            "'\(context.codingPath.text)' is not known"
        case .dataCorrupted(let context):
            context.codingPath.isEmpty ? "the body is not JSON" : "'\(context.codingPath.text)' has no allowed value"
        @unknown default: "the body cannot be decoded"
        }
    }
}

extension [any CodingKey] {
    fileprivate var text: String { map(\.stringValue).joined(separator: ".") }
}
