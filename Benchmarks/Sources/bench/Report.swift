// SPDX-License-Identifier: Apache-2.0

import Foundation
import Histogram
import Judging

/// The results of a run, and the contents of the file that `--json` writes.
struct Report: Encodable {
    let date: String
    let machine: Machine
    let distance: String
    let isQuick: Bool
    let exitCode: Int32
    let outcomes: [Line]
    let latencies: [Tail]

    struct Line: Encodable {
        let name: String
        let unit: String
        let ours: Double
        let reference: Double?
        let ratio: Double?
        let bound: Double?
        /// The reason why there is no bound.
        let why: String?
        let spread: [Double]?
        let rounds: Int
        let isDisturbed: Bool
        let verdict: Verdict
    }

    /// All rounds of one situation, in nanoseconds from the moment when an operation was due.
    struct Tail: Encodable {
        let situation: String
        let count: UInt64
        let max: UInt64
        let percentiles: [Point]

        struct Point: Encodable {
            let percentile: Double
            let nanoseconds: UInt64
        }
    }

    init(
        _ outcomes: [Outcome],
        _ latencies: [(name: String, histogram: Histogram<UInt64>)],
        _ distance: ProcessorDistance,
        isQuick: Bool
    ) {
        date = Date().formatted(.iso8601)
        machine = Machine()
        self.distance = distance.description
        self.isQuick = isQuick
        exitCode = outcomes.exitCode
        self.outcomes = outcomes.map {
            Line(
                name: $0.name,
                unit: $0.unit.rawValue,
                ours: $0.judgement.ours,
                reference: $0.judgement.reference,
                ratio: $0.ratio,
                bound: $0.bound,
                why: $0.why,
                spread: $0.judgement.spread.map { [$0.lowerBound, $0.upperBound] },
                rounds: $0.judgement.rounds,
                isDisturbed: $0.judgement.isDisturbed,
                verdict: $0.judgement.verdict
            )
        }
        self.latencies = latencies.map { Tail($0.name, $0.histogram) }
    }

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf",
            negativeInfinity: "-inf",
            nan: "nan"
        )
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(self).write(to: URL(filePath: path))
    }
}

extension Report.Tail {
    /// The percentiles that tables show.
    static let shown = [50, 90, 99, 99.9, 99.99]

    fileprivate init(_ situation: String, _ histogram: Histogram<UInt64>) {
        self.situation = situation
        (count, max) = (histogram.totalCount, histogram.max)
        let drawn = [1, 10, 25, 75, 95, 98, 99.5, 99.8, 99.95, 99.98]
        percentiles = (Self.shown + drawn).sorted().map {
            Point(percentile: $0, nanoseconds: histogram.valueAtPercentile($0))
        }
    }

    /// Returns the nanoseconds within which this percentage of the operations ended.
    func value(_ percentile: Double) -> UInt64? { percentiles.first { $0.percentile == percentile }?.nanoseconds }
}
