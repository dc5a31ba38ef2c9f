// SPDX-License-Identifier: Apache-2.0

/// Counts durations in nanoseconds, in buckets of about 3 % width. One thread writes a histogram,
/// and reports merge several of them.
public struct Histogram: Sendable {
    private static let bucketsPerDoubling = 32
    private var counts = [UInt64](repeating: 0, count: 64 * bucketsPerDoubling)
    /// The number of recorded durations.
    public private(set) var total: UInt64 = 0
    /// The longest recorded duration; 0 if there is none.
    public private(set) var maximum: UInt64 = 0

    package init() {}

    package mutating func record(_ value: UInt64) {
        counts[Self.bucket(of: value)] += 1
        total += 1
        maximum = max(maximum, value)
    }

    package mutating func merge(_ other: Histogram) {
        for index in counts.indices { counts[index] += other.counts[index] }
        total += other.total
        maximum = max(maximum, other.maximum)
    }

    /// Returns the shortest duration that at least the share `fraction` of the recorded durations
    /// does not exceed, rounded to a bucket. Returns nil if nothing was recorded.
    public func quantile(_ fraction: Double) -> UInt64? {
        guard total > 0 else { return nil }
        let rank = max(1, UInt64((Double(total) * fraction).rounded(.up)))
        var seen: UInt64 = 0
        for (index, count) in counts.enumerated() {
            seen += count
            if seen >= rank { return min(Self.upperBound(of: index), maximum) }
        }
        return maximum
    }

    /// Returns the index of a value's bucket. Each value below 32 has its own. For a larger value,
    /// the place of its first one bit and the five bits after it choose the bucket.
    private static func bucket(of value: UInt64) -> Int {
        guard value >= 32 else { return Int(value) }
        let exponent = 63 - value.leadingZeroBitCount
        return (exponent - 4) * bucketsPerDoubling + Int(value >> UInt64(exponent - 5)) - 32
    }

    private static func upperBound(of bucket: Int) -> UInt64 {
        guard bucket >= 32 else { return UInt64(bucket) }
        let exponent = bucket / bucketsPerDoubling + 4
        let mantissa = UInt64(bucket % bucketsPerDoubling + 32)
        let (shifted, overflow) = (mantissa + 1).multipliedReportingOverflow(by: 1 << UInt64(exponent - 5))
        return overflow ? .max : shifted - 1
    }
}
