// SPDX-License-Identifier: Apache-2.0

/// Says whether a bar holds.
///
/// The figure of the case and the middle half of its rounds must lie on one side of the bound. If
/// all rounds lie on one side, this is so, however much they differ: then their quartiles lie
/// there, and also the best or the median of one side divided by the other side's. A reference may
/// be a hundred times slower in one round and twenty times in the next: both rounds give the same
/// verdict. The case is not judged if its rounds lie on both sides, or if they were disturbed.
package enum Verdict: String, Encodable {
    case holds = "holds"
    case fallsShort = "falls short"
    /// The rounds lie on both sides of the bound, so that another run could give the opposite
    /// verdict. Or too few rounds were undisturbed. This is not a pass.
    case notJudged = "not judged"
    case noBar = "-"
    /// There is no bar, and too few rounds were undisturbed: the figure is only shown.
    case disturbed = "disturbed"
}
