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
    }

    func run() throws {
        let rows = Scenario.all.map { scenario in
            Row(
                name: scenario.name,
                summary: scenario.summary,
                promises: scenario.promises,
                invariants: scenario.invariants,
                windows: scenario.windows
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
            print("  promises    \(row.promises.joined(separator: " "))")
            print("  invariants  \(row.invariants.joined(separator: " "))")
            print("  windows     \(row.windows.joined(separator: "; "))")
        }
    }
}
