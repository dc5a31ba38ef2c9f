// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One of the checks: `Scripts/check.sh NAME` runs it at the root of the repository.
struct Check: Sendable {
    let name: String
    let parameters: String
    let abstract: String
    /// Returns the line that is printed if the check passes.
    let run: @Sendable (_ arguments: [String]) throws -> String

    init(_ name: String, _ abstract: String, _ parameters: String, run: @escaping @Sendable ([String]) throws -> String)
    { (self.name, self.abstract, self.parameters, self.run) = (name, abstract, parameters, run) }

    /// Makes a check of the files that takes no arguments.
    init(_ name: String, _ abstract: String, of files: @escaping @Sendable (Checkout) throws -> String) {
        self.init(name, abstract, "") { arguments in
            if !arguments.isEmpty { throw Failure("takes no arguments", code: 2) }
            return try files(.current())
        }
    }

    static let all = [
        Check("structure", "rooms, C, `unsafe`, licences, nothing generated") { try Structure($0).check() },
        Check("words", "names and prose without words that have a better one; plain sentences") {
            try Words($0).check()
        },
        Check("links", "what Markdown files link to; the contract's suites") { try Links($0).check() },
        Check("quotations", "the code that an article quotes from the examples", of: Quotations.check),
        Check("readme", "what the examples of Markdown files print", "[FILE…]", run: MarkdownExamples.check),
        Check("examples", "what the packages in `Examples` print", "[NAME…]", run: ExamplePackages.check),
        Check("embedding", "README's \"Adding it\", in a new package", "[plain | macro]", run: Embedding.check),
        Check("api", "the public API, written down and released", "[--write | --record VERSION]", run: PublicAPI.check),
        Check("docs", "the documentation is complete, without a warning", "[OUTPUT]", run: Documentation.check),
        Check("instrument", "makes the instrumented copy of the library", of: Instrumented.write),
        Check("perturb", "copies a package, with the perturbed library below it", "PACKAGE") {
            try Perturbed.write($0)
        },
        Check("models", "the models, with Spin", "[--names | [--json FILE] [PATTERN]]", run: Models.check),
    ]
}

@main enum Checks {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard let check = Check.all.first(where: { $0.name == arguments.first }) else {
            print("usage: Scripts/check.sh NAME [ARGUMENT…]; exit codes: 0 holds, 1 does not, 2 wrong usage")
            for check in Check.all { print("  \(check.name) \(check.parameters)\n      \(check.abstract)") }
            exit(2)
        }
        do { print("\(check.name): ok, \(try check.run(Array(arguments.dropFirst())))") } catch let failure as Failure {
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
