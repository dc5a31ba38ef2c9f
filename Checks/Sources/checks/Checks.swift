// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a check has found. Its lines go to standard error.
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

/// One of the checks: `Scripts/check.sh NAME` runs it at the root of the repository.
struct Check: Sendable {
    let name: String
    var parameters = ""
    let abstract: String
    /// Returns the line that says what holds.
    let run: @Sendable (_ arguments: [String]) throws -> String

    static let all = [
        Check(name: "structure", abstract: "rooms, C, `unsafe`, licences, nothing generated") { arguments in
            try noArguments(arguments)
            return try Structure(Checkout.current()).check()
        },
        Check(name: "links", abstract: "what Markdown files link to; the contract's suites") { arguments in
            try noArguments(arguments)
            return try Links(Checkout.current()).check()
        },
        Check(name: "quotations", abstract: "the code that an article quotes from the examples") { arguments in
            try noArguments(arguments)
            return try Quotations(Checkout.current()).check()
        },
        Check(name: "readme", parameters: "[FILE…]", abstract: "what the examples of Markdown files print") {
            try MarkdownExamples.check($0.isEmpty ? ["README.md"] : $0)
        },
        Check(name: "examples", parameters: "[NAME…]", abstract: "what the packages in `Examples` print") {
            try ExamplePackages.check($0)
        },
        Check(name: "embedding", parameters: "[plain | macro]", abstract: "README's \"Adding it\", in a new package") {
            try Embedding.check($0)
        },
        Check(name: "api", parameters: "[--record VERSION]", abstract: "the public API against the last release's") {
            try PublicAPI.check($0)
        },
        Check(name: "docs", parameters: "[OUTPUT]", abstract: "the documentation is complete, without a warning") {
            try Documentation.check($0)
        },
        Check(name: "models", parameters: "[--names | [--json FILE] [PATTERN]]", abstract: "the models, with Spin") {
            try Models.check($0)
        },
    ]

    private static func noArguments(_ arguments: [String]) throws(Failure) {
        if !arguments.isEmpty { throw Failure("takes no arguments", code: 2) }
    }
}

@main
enum Checks {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard let check = Check.all.first(where: { $0.name == arguments.first }) else {
            print("usage: Scripts/check.sh NAME [ARGUMENT…]; exit codes: 0 holds, 1 does not, 2 wrong usage")
            for check in Check.all { print("  \(check.name) \(check.parameters)\n      \(check.abstract)") }
            exit(2)
        }
        do {
            print("\(check.name): ok, \(try check.run(Array(arguments.dropFirst())))")
        } catch let failure as Failure {
            fflush(nil)
            let usage = failure.code == 2 ? ["usage: Scripts/check.sh \(check.name) \(check.parameters)"] : []
            let text = (failure.lines + usage).map { "\(check.name): \($0)\n" }.joined()
            FileHandle.standardError.write(Data(text.utf8))
            exit(failure.code)
        } catch {
            FileHandle.standardError.write(Data("\(check.name): \(error)\n".utf8))
            exit(1)
        }
    }
}
