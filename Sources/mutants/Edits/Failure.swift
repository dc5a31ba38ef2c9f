// SPDX-License-Identifier: Apache-2.0

/// The findings of a check. Its lines go to standard error.
struct Failure: Error {
    /// The exit code: 1, something does not hold; 2, wrong usage.
    var code: Int32 = 1
    let lines: [String]

    init(_ lines: String..., code: Int32 = 1) { self.init(lines, code: code) }

    init(_ lines: [String], code: Int32 = 1) {
        self.lines = lines
        self.code = code
    }
}
