// SPDX-License-Identifier: Apache-2.0

/// Chooses the figure of one side from its rounds.
package enum Summary: Sendable {
    /// The fastest round: the cost of the code when nothing disturbs it.
    case best
    case median

    func of(_ values: [Double]) -> Double {
        switch self {
        case _ where values.isEmpty: .nan
        case .best: values.min()!
        case .median: values.median
        }
    }
}

extension [Double] {
    /// Returns the value below which the given part of the values lies, by interpolation. The array
    /// must not be empty.
    package func quantile(_ part: Double) -> Double {
        let sorted = self.sorted()
        let position = part * Double(count - 1)
        let below = Int(position)
        guard below + 1 < count else { return sorted[below] }
        return sorted[below] + (sorted[below + 1] - sorted[below]) * (position - Double(below))
    }

    package var median: Double { quantile(0.5) }
}
