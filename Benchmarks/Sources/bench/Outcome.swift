// SPDX-License-Identifier: Apache-2.0

import Judging

/// What was measured of one case.
struct Outcome {
    let name: String
    let unit: Case.Unit
    let bound: Double?
    let judgement: Judgement

    init(of measured: Case, _ rounds: Rounds) {
        (name, unit, bound) = (measured.name, measured.unit, measured.bar.bound)
        judgement = Judgement(of: rounds, measured.summary, bound: measured.bar.bound)
    }

    var ratio: Double? { judgement.reference == nil ? nil : judgement.figure }

    /// Whether more rounds might say more.
    var isOpen: Bool { judgement.verdict == .notJudged || judgement.verdict == .disturbed }
}
