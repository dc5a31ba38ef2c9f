// SPDX-License-Identifier: Apache-2.0

/// The result of the rounds of one case.
package struct Judgement {
    /// Our figure for all rounds; NaN if there is none.
    package let ours: Double
    package let reference: Double?
    /// The ratio; in a case without a reference, our figure.
    package let figure: Double
    /// The middle half of the rounds' figures; nil if there is none.
    package let spread: ClosedRange<Double>?
    /// The number of rounds from which the figures come.
    package let rounds: Int
    /// Whether too few rounds were undisturbed, so that the figures come from all rounds.
    package let isDisturbed: Bool
    package let verdict: Verdict

    /// Judges rounds.
    ///
    /// - Parameters:
    ///   - summary: Chooses the figure of each side from its rounds.
    ///   - bound: The largest accepted figure; nil if there is no bar.
    package init(of rounds: Rounds, _ summary: Summary, bound: Double?) {
        let shown = rounds.shown
        // The best of each process, not of all processes: one side's best could come from a process
        // in which the other side was faster, too.
        let sides = rounds.shownByProcess.map { process in
            let references = process.compactMap(\.reference)
            return (summary.of(process.map(\.ours)), references.isEmpty ? nil : summary.of(references))
        }
        let references = sides.compactMap(\.1)
        ours = sides.isEmpty ? .nan : sides.map(\.0).median
        reference = references.isEmpty ? nil : references.median
        figure = sides.isEmpty ? .nan : sides.map { side in side.1.map { side.0 / $0 } ?? side.0 }.median
        let figures = shown.map(\.figure)
        spread = figures.isEmpty ? nil : figures.quantile(0.25)...figures.quantile(0.75)
        self.rounds = shown.count
        isDisturbed = !rounds.isEnough
        verdict =
            if isDisturbed {
                bound == nil ? .disturbed : .notJudged
            } else if let bound, let spread {
                if max(figure, spread.upperBound) <= bound {
                    .holds
                } else if min(figure, spread.lowerBound) > bound {
                    .fallsShort
                } else {
                    .notJudged
                }
            } else {
                .noBar
            }
    }
}
