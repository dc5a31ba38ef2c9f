// SPDX-License-Identifier: Apache-2.0

/// Compares the steps of the article's table of orderings with those that the tests claim.
public enum Coverage {
    /// Steps of the table that no test has: hints. Nothing depends on them.
    static let exempt: Set<String> = ["W1"]

    /// A problem for each step of the table that no test's claim names.
    ///
    /// - Parameter article: The text of `ProtocolAndMemoryModel.md`.
    public static func problems(in article: String, tests: [Test] = Protocol.all) -> [Problem] {
        let claimed = tests.reduce(into: exempt) { $0.formUnion(Self.steps(in: $1.claim)) }
        let steps = tableSteps(in: article)
        if steps.isEmpty { return [Problem("the article has no table of orderings with steps")] }
        return steps.subtracting(claimed).sorted().map {
            Problem("\($0): a step of the table of orderings, in no test")
        }
    }

    /// The first column of the table that begins with "Step" and "Access".
    private static func tableSteps(in article: String) -> Set<String> {
        var found: Set<String> = []
        var isInside = false
        for line in article.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("| Step | Access |") { isInside = true }
            if !line.hasPrefix("|") { isInside = false }
            guard isInside, let cell = line.split(separator: "|").first else { continue }
            found.formUnion(steps(in: String(cell)))
        }
        return found
    }

    /// Steps that a text names: "W4", and "W6 to W8" for three.
    private static func steps(in text: String) -> Set<String> {
        var found: Set<String> = []
        var last: (letter: Character, number: Int)?
        var isRange = false
        for word in text.split(whereSeparator: { !$0.isLetter && !$0.isNumber }) {
            guard let letter = word.first, "WRVMCF".contains(letter), let number = Int(word.dropFirst()) else {
                isRange = word == "to" && last != nil
                continue
            }
            let first = isRange && last?.letter == letter ? last!.number : number
            for step in min(first, number)...number { found.insert("\(letter)\(step)") }
            (last, isRange) = ((letter, number), false)
        }
        return found
    }
}
