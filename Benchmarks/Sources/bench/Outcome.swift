// SPDX-License-Identifier: Apache-2.0

import Judging

/// The measurements of one case.
struct Outcome {
    let name: String
    let unit: Case.Unit
    let bound: Double?
    /// The reason why there is no bound.
    let why: String?
    let judgement: Judgement

    init(of measured: Case, _ rounds: Rounds) {
        (name, unit) = (measured.name, measured.unit)
        (bound, why) = (measured.bar.bound, measured.bar.why)
        judgement = Judgement(of: rounds, measured.summary, bound: measured.bar.bound)
    }

    var ratio: Double? { judgement.reference == nil ? nil : judgement.figure }

    /// Whether more rounds might change the verdict.
    var isOpen: Bool {
        switch judgement.verdict {
        case .notJudged, .disturbed, .fallsShort: true
        case .holds, .noBar: false
        }
    }
}
