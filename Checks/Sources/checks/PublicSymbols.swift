// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The public symbols of the library's products, as the compiler sees them with their traits on.
enum PublicSymbols {
    static let modules = [
        "ConcurrentObserve", "ConcurrentObserveMacros", "ConcurrentObserveMetrics", "ConcurrentObserveLogging",
        "ConcurrentObserveServiceLifecycle",
    ]

    /// Where the optional parts are built already if Scripts/traits.sh has run.
    private static let scratch = ".build-traits"

    /// The files of each module's symbols. They are written anew if a source has changed since the
    /// last time.
    static func files() throws -> [(module: String, files: [String])] {
        let newest = try newestSource()
        if try symbols().compactMap(modified).min() ?? .distantPast < newest { try write() }
        let found = try symbols()
        return try modules.map { module in
            let own = found.filter { $0.contains("/symbolgraph/\(module).") || $0.contains("/symbolgraph/\(module)@") }
            if !own.contains(where: { $0.hasSuffix("/\(module).symbols.json") }) {
                throw Failure("\(module) has no symbols")
            }
            return (module, own)
        }
    }

    static func graphs() throws -> [SymbolGraph] {
        try files().flatMap { try $0.files.map { try SymbolGraph(file: $0) } }
    }

    /// What SwiftPM has written last.
    private static func symbols() throws -> [String] {
        try Command("find", [scratch, "-path", "*/symbolgraph/ConcurrentObserve*.symbols.json"]).run(errors: false)
            .output.split(separator: "\n").map(String.init).sorted()
    }

    private static func write() throws {
        let begun = Date()
        for file in try symbols() { try FileManager.default.removeItem(atPath: file) }
        // It exits with 1 where the tests are not built, which is not asked for: what counts is
        // that it has written the symbols.
        // With the traits that Scripts/traits.sh has built: another one, and everything is built anew.
        let traits = modules.dropFirst().map { $0.dropFirst("ConcurrentObserve".count) }.joined(separator: ",")
        let (_, log) = try Command(
            "swift",
            ["package", "--scratch-path", scratch, "--traits", traits, "dump-symbol-graph"] + [
                "--minimum-access-level", "public", "--skip-synthesized-members",
            ],
            // Without `stress` and the tests.
            environment: ["CONCURRENT_OBSERVE_TESTS": "traits"]
        ).run()
        if try symbols().isEmpty { throw Failure(log, "the symbols cannot be read") }
        // As old as the sources that they are of, should one be changed meanwhile.
        for file in try symbols() {
            try FileManager.default.setAttributes([.modificationDate: begun], ofItemAtPath: file)
        }
    }

    private static func newestSource() throws -> Date {
        let sources = try FileManager.default.subpathsOfDirectory(atPath: "Sources").filter { !$0.contains(".docc") }
        return (sources.map { "Sources/" + $0 } + ["Package.swift"]).compactMap(modified).max() ?? .distantFuture
    }

    private static func modified(_ path: String) -> Date? {
        try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
    }
}
