// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The file that `--json` writes.
struct Report: Encodable {
    let date: String
    let system: String
    let processors: Int
    let isQuick: Bool
    let exitCode: Int32
    let outcomes: [Line]

    struct Line: Encodable {
        let name: String
        let unit: String
        let ours: Double
        let reference: Double?
        let ratio: Double?
        let bound: Double?
        let spread: [Double]
        let rounds: Int
        let verdict: String
    }

    init(_ outcomes: [Outcome], isQuick: Bool) {
        date = Date().formatted(.iso8601)
        system = ProcessInfo.processInfo.operatingSystemVersionString
        processors = ProcessInfo.processInfo.activeProcessorCount
        self.isQuick = isQuick
        exitCode = outcomes.exitCode
        self.outcomes = outcomes.map {
            Line(
                name: $0.name,
                unit: $0.unit.rawValue,
                ours: $0.ours,
                reference: $0.reference,
                ratio: $0.ratio,
                bound: $0.bound,
                spread: [$0.spread.lowerBound, $0.spread.upperBound],
                rounds: $0.rounds,
                verdict: $0.verdict.rawValue
            )
        }
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
