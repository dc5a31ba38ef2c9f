// SPDX-License-Identifier: Apache-2.0

/// Thrown with the findings of a check. Its lines go to standard error.
struct Failure: Error {
    /// The exit code: 1 if a check found something, 2 for wrong usage.
    var code: Int32 = 1
    let lines: [String]

    init(_ lines: String..., code: Int32 = 1) { self.init(lines, code: code) }

    init(_ lines: [String], code: Int32 = 1) {
        self.lines = lines
        self.code = code
    }
}
