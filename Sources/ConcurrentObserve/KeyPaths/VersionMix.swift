// SPDX-License-Identifier: Apache-2.0

/// A hash of the versions of all steps of a path. It is used when the versions do not fit side by
/// side into one number.
///
/// A shifted sum would be equal for different states: 65,536 replacements of a step would count as
/// one replacement of the step before it. Comparing two such numbers would then miss a change.
internal struct VersionMix {
    private(set) var number: UInt64 = 0
    /// Whether a version needed more bits than it had.
    private(set) var isOver = false

    /// Adds the version of the next step, which fits into the plain number if it has at most `bits`
    /// bits.
    mutating func add(_ version: UInt64, atMost bits: Int) {
        if version >> UInt64(bits) != 0 { isOver = true }
        // The finaliser of SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014), a bijection.
        var mixed = (number ^ version) &+ 0x9e37_79b9_7f4a_7c15
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        number = mixed ^ mixed >> 31
    }
}
