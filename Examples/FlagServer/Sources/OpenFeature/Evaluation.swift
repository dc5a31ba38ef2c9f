// SPDX-License-Identifier: Apache-2.0

/// A flag's value for one user, as OpenFeature reports it.
struct Evaluation: Sendable, Equatable {
    /// The reason why a flag has its value.
    enum Reason: String, Sendable {
        /// The value is the same for all users.
        case constant = "STATIC"
        /// The key of the user decides.
        case targetingMatch = "TARGETING_MATCH"
        /// The value depends on the key of the user, and there is none.
        case noKey = "DEFAULT"
    }

    let name: String
    let value: Bool
    let reason: Reason
    /// The number of the commit that has made the value.
    let version: UInt64

    var variant: String { value ? "on" : "off" }
}

extension ProvidedFlags {
    /// Returns a flag's value for a user; nil if there is no flag with this name.
    ///
    /// flagd's providers evaluate in their own processes, and find the same value: see
    /// `flagdConfiguration`.
    ///
    /// - Parameter targetingKey: Names the user. The same user is always on the same side of a
    ///   rollout.
    func evaluation(of name: String, targetingKey: String?) -> Evaluation? {
        flags.first { $0.name == name }.map { evaluation(of: $0, targetingKey: targetingKey) }
    }

    /// Returns the values of all flags for a user.
    func evaluations(targetingKey: String?) -> [Evaluation] {
        flags.map { evaluation(of: $0, targetingKey: targetingKey) }
    }

    private func evaluation(of flag: ProvidedFlag, targetingKey: String?) -> Evaluation {
        func evaluation(_ value: Bool, _ reason: Evaluation.Reason) -> Evaluation {
            Evaluation(name: flag.name, value: value, reason: reason, version: version)
        }
        guard flag.isForSome else { return evaluation(flag.isEnabled, .constant) }
        guard let targetingKey, !targetingKey.isEmpty else { return evaluation(false, .noKey) }
        let isOn = FractionalHash.bucket(of: targetingKey, flag: flag.name, total: 100) < UInt64(flag.rollout)
        return evaluation(isOn, .targetingMatch)
    }
}

/// Computes where flagd's `fractional` puts a user: the MurmurHash3 of the flag's name and the
/// user's key, as CBOR encodes the two.
enum FractionalHash {
    /// Returns the place of a user.
    ///
    /// - Returns: A number from 0 to `total` - 1.
    static func bucket(of targetingKey: String, flag: String, total: UInt64) -> UInt64 {
        // An array of two texts.
        let bytes = [0x82] + cbor(flag) + cbor(targetingKey)
        return (UInt64(murmur3(bytes)) * total) >> 32
    }

    /// Returns a text in CBOR: its kind and length in as few bytes as possible, and then its bytes.
    private static func cbor(_ text: String) -> [UInt8] {
        let count = text.utf8.count
        let head: [UInt8] =
            switch count {
            case ..<24: [0x60 | UInt8(count)]
            case ..<0x100: [0x78, UInt8(count)]
            case ..<0x1_0000: [0x79, UInt8(count >> 8), UInt8(count & 0xFF)]
            default: [0x7A] + (0..<4).reversed().map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
            }
        return head + text.utf8
    }

    /// Returns the MurmurHash3 of 32 bits, with the seed 0.
    private static func murmur3(_ bytes: [UInt8]) -> UInt32 {
        func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
        func mixed(_ word: UInt32) -> UInt32 { rotated(word &* 0xCC9E_2D51, 15) &* 0x1B87_3593 }
        func word(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) } }
        let end = bytes.count & ~3
        var hash: UInt32 = 0
        for begin in stride(from: 0, to: end, by: 4) {
            hash = rotated(hash ^ mixed(word(bytes[begin..<begin + 4])), 13) &* 5 &+ 0xE654_6B64
        }
        hash ^= mixed(word(bytes[end...])) ^ UInt32(truncatingIfNeeded: bytes.count)
        hash = (hash ^ hash >> 16) &* 0x85EB_CA6B
        hash = (hash ^ hash >> 13) &* 0xC2B2_AE35
        return hash ^ hash >> 16
    }
}
