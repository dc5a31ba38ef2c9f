// SPDX-License-Identifier: Apache-2.0

/// The result of the rounds of one case.
package struct Judgement {
    /// The figure that stands for our rounds; NaN if there is none.
    package let ours: Double
    package let reference: Double?
    /// The ratio, or, in a case without a reference, the value.
    package let figure: Double
    /// The middle half of the rounds' figures; nil if there is none.
    package let spread: ClosedRange<Double>?
    /// How many rounds the figures summarise.
    package let rounds: Int
    /// Whether too few rounds were left undisturbed to judge by, so that these are all.
    package let isDisturbed: Bool
    package let verdict: Verdict

    /// - Parameters:
    ///   - summary: Chooses the figure that stands for the rounds of each side.
    ///   - bound: The most that the figure may be, if there is a bar.
    package init(of rounds: Rounds, _ summary: Summary, bound: Double?) {
        let shown = rounds.shown
        // The best of each process, not of all: one side's best could be of a process in which the
        // other's was better, too.
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
