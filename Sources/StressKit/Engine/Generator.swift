// SPDX-License-Identifier: Apache-2.0

/// A small reproducible generator of random numbers: one for each thread (SplitMix64 of Steele, Lea
/// and Flood, 2014).
public struct Generator: RandomNumberGenerator, Sendable {
    @usableFromInline package var state: UInt64

    /// Makes a generator. Two generators with the same arguments give the same numbers.
    ///
    /// - Parameters:
    ///   - seed: Determines all numbers.
    ///   - stream: Distinguishes the generators of one seed.
    public init(seed: UInt64, stream: UInt64) {
        state = seed &+ stream &* 0xD1B5_4A32_D192_ED03
        _ = next()
    }

    /// Draws a number. Complexity: O(1).
    @inlinable
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns true once in `times` calls on average.
    @inlinable
    public mutating func oneIn(_ times: UInt64) -> Bool { next() % times == 0 }

    /// Draws a number from 0 to `bound` - 1.
    ///
    /// - Precondition: `bound` is 1 or more.
    @inlinable
    public mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// Returns the seed of one round. It depends on the run's seed, the scenario's name and the
    /// round. It does not depend on the other scenarios of the run.
    package static func roundSeed(_ seed: UInt64, _ name: String, _ round: Int) -> UInt64 {
        let hash = name.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        var generator = Generator(seed: seed ^ hash, stream: UInt64(round))
        return generator.next()
    }
}
