// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Checks that models and injection points, which are edits of the instrumented copy, name each
/// other. Also checks that models and the options of their rows do.
struct ModelNames {
    let checkout: Checkout
    let rows: [ModelRow]

    func failures() -> [String] {
        let models = checkout.paths.filter { $0.hasPrefix("Models/") && $0.hasSuffix(".pml") }.compactMap(checkout.text)
        let named = Set(models.flatMap { $0.between("inject(\"", "\")") })
        let injectedByFile = pointsByFile()
        let injected = Set(injectedByFile.values.joined())
        // The points of the protocol for which there are models. Each of them is a step of a model.
        let modelled = injected.filter { $0.contains(/^(walk|append|grow|end|wait|reclaim|mailbox)\.|^path\.enter$/) }
        return named.subtracting(injected).sorted().map {
            "a model names an injection point that does not exist: \($0)"
        }
            + modelled.subtracting(named).sorted().map { "no model names the injection point \($0)" }
            + missingSteps(named, injectedByFile) + unknownOptions(models)
    }

    /// Returns the injection points, by the file that has them. Reads all edits.
    private func pointsByFile() -> [String: [String]] {
        ((try? EditList(checkout, below: Instrumented.edits).edits) ?? [:]).mapValues { edits in
            edits.compactMap { if case .point(let name) = $0.kind { name } else { nil } }
        }
    }

    /// Returns errors for the points of models that the table of Models/README.md does not have,
    /// and for rows of the table whose file does not have the point.
    private func missingSteps(_ named: Set<String>, _ injectedByFile: [String: [String]]) -> [String] {
        let steps = (checkout.text("Models/README.md") ?? "").lines.compactMap {
            line -> (file: String, point: String)? in
            guard line.hasPrefix("|"), let file = line.firstMatch(of: /([A-Za-z\/+]+\.swift)`/),
                let point = line.firstMatch(of: /\| `([a-z]+\.[a-z]+)` *\|$/)
            else { return nil }
            return (String(file.1), String(point.1))
        }
        return named.subtracting(steps.map(\.point)).sorted()
            .map { "Models/README.md has no step for the injection point \($0)" }
            + steps.filter {
                injectedByFile[$0.file]?.contains($0.point) != true
            }
            .map { "Models/README.md: \($0.file) does not have the injection point \($0.point)" }
    }

    /// Returns the options that a model tests and no row sets, and those that a row sets and no
    /// model tests. Such a row would not check what it says.
    private func unknownOptions(_ models: [String]) -> [String] {
        let lines = models.flatMap(\.lines)
        let conditions = lines.filter { $0.prefixMatch(of: /#(if|ifdef|ifndef|elif)/) != nil }
        let tested = Set(conditions.flatMap { $0.matches(of: /\b[A-Z][A-Z_0-9]+\b/).map { String($0.output) } })
        let defined = Set(lines.compactMap { $0.prefixMatch(of: /#define ([A-Z_0-9]+)/).map { String($0.1) } })
        let set = Set(rows.flatMap(\.definitions).map { String($0.prefix { $0 != "=" }) })
        return set.subtracting(tested).sorted().map { "no model tests the option \($0)" }
            + tested.subtracting(set).subtracting(defined).sorted().map { "no row sets the option \($0)" }
    }
}
