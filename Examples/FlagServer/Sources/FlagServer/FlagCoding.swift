// SPDX-License-Identifier: Apache-2.0

import HTTPEdge
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

    func encode(to encoder: any Encoder) throws {
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
        // A misspelt name would otherwise count as missing, and the flag would be on for all.
        let members = try decoder.container(keyedBy: AnyMember.self)
        guard let unknown = members.allKeys.first(where: { CodingKeys(stringValue: $0.stringValue) == nil }) else {
            return
        }
        throw DecodingError.dataCorruptedError(forKey: unknown, in: members, debugDescription: unknownMember)
    }

    private static func rollout(in container: KeyedDecodingContainer<CodingKeys>) throws -> UInt8 {
        do {
            let share = try container.decodeIfPresent(Double.self, forKey: .rollout) ?? 100
            if let whole = UInt8(exactly: share), whole <= 100 { return whole }
        } catch DecodingError.dataCorrupted {
            // A number that is too large for the type.
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

extension Flag {
    /// The flag as in the body of a `PUT`.
    package var encoded: String { "{\"enabled\": \(isEnabled), \"rollout\": \(rollout)}" }
}
