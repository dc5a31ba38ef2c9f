// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Checks the models of `Models` with Spin. Every claim that must hold is searched exhaustively and
/// holds. Every rule that is broken on purpose is found, by the expected claim. Every window is
/// reached.
enum Models {
    static let folder = "Models"

    static func check(_ arguments: [String]) throws -> String {
        var arguments = arguments[...]
        let namesOnly = arguments.first == "--names"
        var json: String?
        if arguments.first == "--json", arguments.count > 1 { json = arguments[1] }
        arguments = arguments.dropFirst(namesOnly ? 1 : json == nil ? 0 : 2)
        if arguments.count > (namesOnly ? 0 : 1) || arguments.first?.hasPrefix("-") == true {
            throw Failure("no such arguments", code: 2)
        }
        let checkout = try Checkout.current()
        let all = try ModelRow.all(in: checkout.text("\(folder)/rows.txt") ?? "")
        let misnamed = ModelNames(checkout: checkout, rows: all).failures()
        if namesOnly {
            if !misnamed.isEmpty { throw Failure(misnamed) }
            return "models and injection points name each other"
        }
        let pattern = try Regex(arguments.first ?? "")
        let rows = all.filter { "\($0.kind)|\($0.model)|\($0.name)|\($0.expected)|\($0.definitions)".contains(pattern) }
        if rows.isEmpty { throw Failure("no row matches \(arguments.first ?? "")", code: 2) }
        if let json { try "".write(toFile: json, atomically: true, encoding: .utf8) }
        try Command("bash", ["-c", "command -v spin && command -v gcc || Scripts/install.sh spin gcc"]).succeed(
            "no Spin"
        )

        let started = Date()
        let results = try run(rows, models: "\(FileManager.default.currentDirectoryPath)/\(folder)")
        let seconds = Date().timeIntervalSince(started)
        print(table(results))
        if let json {
            try JSONEncoder().encode(ModelReport(results, seconds: seconds)).write(to: URL(fileURLWithPath: json))
        }
        let deviations = results.filter { !$0.isAsExpected }.count
        let summary =
            "\(rows.count) rows, \(deviations) of them not as expected, \(misnamed.count) wrong names, in \(Int(seconds)) s"
        if deviations + misnamed.count > 0 { throw Failure(misnamed + [summary]) }
        return summary
    }

    /// Runs the rows, two at a time, because each may need gigabytes.
    static func run(_ rows: [ModelRow], models: String) throws -> [ModelRow.Result] {
        let results = Mutex([Result<ModelRow.Result, any Error>?](repeating: nil, count: rows.count))
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 2
        for (index, row) in rows.enumerated() {
            queue.addOperation {
                let result = Result { try row.run(models: models) }
                results.withLock { $0[index] = result }
            }
        }
        queue.waitUntilAllOperationsAreFinished()
        return try results.withLock { $0 }.map { try $0!.get() }
    }

    private static func table(_ results: [ModelRow.Result]) -> String {
        func line(_ fields: [String]) -> String {
            zip(fields, [9, 7, 16, 59, 21, 21, -9, -7]).map { field, width in
                let blanks = String(repeating: " ", count: max(0, abs(width) - field.count))
                return width < 0 ? blanks + field : field + blanks
            }.joined()
        }
        let rows = results.map {
            let verdict = $0.isAsExpected ? "ok" : "DEVIATES"
            return [verdict, $0.row.kind.rawValue, $0.row.model, $0.row.name, $0.row.expected, $0.found, $0.states] + [
                String(format: "%.1f", $0.seconds)
            ]
        }
        return ([["", "kind", "model", "name", "expected", "found", "states", "s"]] + rows).map(line).joined(
            separator: "\n"
        )
    }
}

/// The results as a file that `stress report` reads. (`Kill` in Sources/stress) Windows are not
/// kills.
struct ModelReport: Encodable {
    struct Kill: Encodable {
        let mutant, catcher, output: String?
        let engine = "model"
        let scenario, name, expectation: String
        let seed = 0
        let verdict: String
        let seconds: Double
    }

    let schemaVersion = 3
    let command = "check-models"
    /// The exit code, as in `stress`: 2 if something is found where all must hold, 6 if a broken
    /// rule is not found.
    let exitCode: Int
    let seconds: Double
    let kills: [Kill]

    init(_ results: [ModelRow.Result], seconds: Double) {
        self.seconds = seconds
        let failed = results.filter { !$0.isAsExpected }.map(\.row.kind)
        exitCode = failed.contains(.holds) ? 2 : failed.contains(.mutant) ? 6 : 0
        kills = results.filter { $0.row.kind != .window }.map { result in
            let (row, isMutant, isAsExpected) = (result.row, result.row.kind == .mutant, result.isAsExpected)
            return Kill(
                mutant: isMutant ? row.name : nil,
                catcher: isMutant && isAsExpected ? row.expected : nil,
                output: isAsExpected ? nil : "\(row.name): expected \(row.expected), found \(result.found)",
                scenario: row.model,
                name: row.name,
                expectation: row.expected,
                verdict: isMutant ? (isAsExpected ? "killed" : "survived") : (isAsExpected ? "clean" : "failed"),
                seconds: result.seconds
            )
        }
    }
}
