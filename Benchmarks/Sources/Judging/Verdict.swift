// SPDX-License-Identifier: Apache-2.0

/// Whether a bar holds.
///
/// The figure that stands for the case and the middle half of its rounds must lie on one side of
/// the bound. So what every single round says is the verdict, however much the rounds differ: if
/// each lies on one side, their quartiles do, and so do the best or the median of one side over the
/// other's. Where a reference is a hundred times slower in one round and twenty times in the next,
/// both are judged. What is left is the case whose rounds say different things, and that whose
/// rounds were disturbed.
package enum Verdict: String, Encodable {
    case holds = "holds"
    case fallsShort = "falls short"
    /// The rounds lie on both sides of the bound, so that another run could say the opposite, or
    /// too few were left undisturbed. Not a pass.
    case notJudged = "not judged"
    case noBar = "-"
    /// Without a bar, and too few rounds were left undisturbed: a figure to look at, no more.
    case disturbed = "disturbed"
}
