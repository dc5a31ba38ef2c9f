// SPDX-License-Identifier: Apache-2.0

/// A small reproducible generator, one for each thread (SplitMix64 of Steele, Lea and Flood, 2014).
package struct Generator: RandomNumberGenerator {
    private var state: UInt64

    /// - Parameter stream: Distinguishes the generators of one seed.
    package init(seed: UInt64, stream: UInt64) {
        state = seed &+ stream &* 0xD1B5_4A32_D192_ED03
        _ = next()
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// True once in `times`.
    package mutating func oneIn(_ times: UInt64) -> Bool { next() % times == 0 }

    /// A number below `bound`.
    package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
