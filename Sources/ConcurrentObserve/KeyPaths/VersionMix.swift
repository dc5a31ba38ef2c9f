// SPDX-License-Identifier: Apache-2.0

/// A number for the versions of all steps of a path, when they do not fit side by side into one.
///
/// Sums and shifted sums of versions are equal for different states: a step that was replaced 65,536 times would count as one
/// replacement of the step before it, and a comparison of two numbers would miss the latter.
internal struct VersionMix {
    private(set) var number: UInt64 = 0
    /// Whether a version has more bits than there is room for.
    private(set) var isOver = false

    /// Adds the version of the next step, for which there are so many bits.
    mutating func add(_ version: UInt64, atMost bits: Int) {
        if version >> UInt64(bits) != 0 { isOver = true }
        // The finaliser of SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014), a bijection.
        var mixed = (number ^ version) &+ 0x9e37_79b9_7f4a_7c15
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        number = mixed ^ mixed >> 31
    }
}
