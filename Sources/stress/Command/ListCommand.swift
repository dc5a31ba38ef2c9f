// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

/// Lists the scenarios.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the scenarios, the promises that each checks, and the windows that each must hit."
    )

    @Flag(help: "As JSON.")
    var json = false

    private struct Row: Encodable {
        let name: String
        let summary: String
        let promises: [String]
        let invariants: [String]
        let windows: [String]
        /// The seeded bugs that are looked for in the scenario. Empty in a build without seeded
        /// bugs.
        let mutants: [String]
    }

    func run() throws {
        let rows = Scenario.all.map { scenario in
            Row(
                name: scenario.name,
                summary: scenario.summary,
                promises: scenario.promises,
                invariants: scenario.invariants,
                windows: scenario.windows,
                mutants: Self.mutants(in: scenario)
            )
        }
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            print(String(decoding: try encoder.encode(rows), as: UTF8.self))
            return
        }
        for row in rows {
            print("\(row.name): \(row.summary)")
            print("  invariants  \(row.invariants.joined(separator: " "))")
            print("  windows     \(row.windows.joined(separator: "; "))")
        }
        print("")
        print(Self.matrix(Scenario.all))
    }

    private static func mutants(in scenario: Scenario) -> [String] {
        #if INSTRUMENTED
        Mutant.all.filter { $0.scenario == scenario.name }.map(\.bug.rawValue)
        #else
        []
        #endif
    }

    /// Returns a table with a row for each scenario and a column for each promise. Each cell has
    /// the number of the promise's invariants that the scenario checks.
    static func matrix(_ scenarios: [Scenario]) -> String {
        let promises = Scenario.promiseIDs
        var table = TextTable([("scenario", false)] + promises.map { ($0, true) })
        for scenario in scenarios {
            let counts = promises.map { promise in scenario.invariants.count { $0.hasPrefix("\(promise).") } }
            table.add([scenario.name] + counts.map { $0 == 0 ? "." : "\($0)" })
        }
        return table.text
    }
}
