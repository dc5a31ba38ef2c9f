// SPDX-License-Identifier: Apache-2.0

/// What one side was measured at in one round.
package struct Sample {
    /// NaN: there is none.
    package let figure: Double
    /// The machine had something else to do meanwhile, which is in the figure: it can be shown, and nothing be judged by it.
    package let isDisturbed: Bool

    package init(_ figure: Double, isDisturbed: Bool = false) {
        (self.figure, self.isDisturbed) = (figure, isDisturbed)
    }
}
