// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StressKit

@Suite("Histogram")
struct HistogramTests {
    @Test(
        "Quantiles are exact below 32 and within a bucket's width above",
        arguments: [31, 1_000, 123_456, 98_765_432] as [UInt64]
    )
    func quantiles(scale: UInt64) throws {
        var histogram = Histogram()
        for step in 1...1_000 as ClosedRange<UInt64> { histogram.record(scale * step / 1_000) }
        for fraction in [0.5, 0.9, 0.99, 1.0] {
            let exact = Double(scale) * fraction
            let found = try Double(#require(histogram.quantile(fraction)))
            #expect(abs(found - exact) <= exact / 16 + 1, "quantile \(fraction) of \(scale)")
        }
        #expect(histogram.quantile(1) == scale)
        #expect(histogram.maximum == scale)
    }

    @Test("An empty histogram has no quantiles")
    func empty() {
        #expect(Histogram().quantile(0.5) == nil)
    }

    @Test("Merging counts everything once")
    func merging() {
        var left = Histogram()
        var right = Histogram()
        for value in 0..<100 as Range<UInt64> { left.record(value) }
        for value in 100..<300 as Range<UInt64> { right.record(value) }
        left.merge(right)
        #expect(left.total == 300)
        #expect(left.maximum == 299)
    }

    @Test("The largest value has a bucket")
    func extremes() {
        var histogram = Histogram()
        histogram.record(.max)
        histogram.record(0)
        #expect(histogram.quantile(1) == .max)
        #expect(histogram.quantile(0.5) == 0)
    }
}
