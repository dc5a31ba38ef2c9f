// SPDX-License-Identifier: Apache-2.0

/// A value that is equal to others with the same number. Its `==` runs a closure before it
/// compares.
struct Compared: Equatable, Sendable {
    let number: Int
    private let life: Life?
    private let atComparison: (@Sendable () -> Void)?

    /// Makes a value.
    ///
    /// - Parameter life: Dies with the last copy of the value.
    init(_ number: Int, life: Life? = nil, atComparison: (@Sendable () -> Void)? = nil) {
        self.number = number
        self.life = life
        self.atComparison = atComparison
    }

    /// Runs the left and then the right value's closure before comparing.
    static func == (left: Compared, right: Compared) -> Bool {
        left.atComparison?()
        right.atComparison?()
        return left.number == right.number
    }
}
