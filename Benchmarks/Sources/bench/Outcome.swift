// SPDX-License-Identifier: Apache-2.0

/// What was measured of one case.
struct Outcome {
    let name: String
    let unit: Case.Unit
    let ours: Double
    let reference: Double?
    let bound: Double?
    /// The ratio, or, in a case without a reference, the value.
    let figure: Double
    /// The middle half of the rounds' figures.
    let spread: ClosedRange<Double>
    let rounds: Int
    let verdict: Verdict

    init(of measured: Case, _ rounds: Rounds) {
        name = measured.name
        unit = measured.unit
        ours = measured.summary.of(rounds.ours)
        reference = rounds.ours.count > rounds.reference.count ? nil : measured.summary.of(rounds.reference)
        bound = measured.bar.bound
        figure = reference.map { [ours] in ours / $0 } ?? ours
        // Without rounds enough that were not disturbed there is nothing to judge by.
        let isEnough = rounds.ours.count >= 3
        spread = isEnough ? rounds.figures.quantile(0.25)...rounds.figures.quantile(0.75) : 0...(.infinity)
        self.rounds = rounds.ours.count
        verdict = isEnough ? Verdict(figure, spread: spread, bound: bound) : .notJudged
    }

    var ratio: Double? { reference == nil ? nil : figure }
}
