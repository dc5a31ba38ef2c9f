// SPDX-License-Identifier: Apache-2.0

/// The figure of one side in one round.
package struct Sample {
    /// The figure; NaN if there is none.
    package let figure: Double
    /// Whether the machine did other work during the measurement. Such a figure can be shown, but
    /// is not used for a judgement.
    package let isDisturbed: Bool

    package init(_ figure: Double, isDisturbed: Bool = false) {
        (self.figure, self.isDisturbed) = (figure, isDisturbed)
    }
}
