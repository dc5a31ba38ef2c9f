// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A package that is built in release mode as its users build it. Its programs must print the text
/// of a page or a file.
struct BuiltPackage {
    /// The folder in which the examples are built. Packages that share it build the library once.
    static let scratch = ".build/examples"

    /// The output of the build.
    let log: String
    private let products: String

    /// Builds the package and all of its dependencies.
    init(at path: String, name: String, in scratch: String, options: [String] = ["-c", "release"]) throws {
        let arguments = ["build", "--package-path", path, "--scratch-path", scratch] + options
        log = try Command("swift", arguments).succeed("\(name) does not build")
        products = try Command("swift", arguments + ["--show-bin-path"]).succeed().chomped
    }

    /// Runs a program, which must succeed and print exactly the expected text.
    func run(_ program: String, name: String, expecting expected: String) throws {
        let (code, output) = try Command("\(products)/\(program)", [], atMost: 60).run()
        try judge(name, code: code, output: output, expected: expected)
    }
}

/// Fails if a program has failed, or has not printed the expected text. The error shows the
/// differences.
func judge(_ name: String, code: Int32, output: String, expected: String) throws {
    if code != 0 { throw Failure(output, "\(name) exits with \(code)") }
    if output == expected { return }
    let changes = output.lines.difference(from: expected.lines).map { change in
        switch change {
        case .remove(let line, let text, _): "- line \(line + 1): \(text)"
        case .insert(let line, let text, _): "+ line \(line + 1): \(text)"
        }
    }
    // There may be no other difference than line breaks at the end.
    throw Failure(changes + ["\(name) prints something else: above, what is missing (-) and what is too much (+)"])
}
