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
        reference = rounds.reference.isEmpty ? nil : measured.summary.of(rounds.reference)
        bound = measured.bar.bound
        figure = reference.map { [ours] in ours / $0 } ?? ours
        spread = rounds.figures.quantile(0.25)...rounds.figures.quantile(0.75)
        self.rounds = rounds.ours.count
        verdict = Verdict(figure, spread: spread, bound: bound)
    }

    var ratio: Double? { reference == nil ? nil : figure }
}
