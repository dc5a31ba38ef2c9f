// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The public symbols of the library's products, as the compiler sees them with all traits on.
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
        let stamp = "\(scratch)/public-symbols"
        var folder = try? String(contentsOfFile: stamp, encoding: .utf8)
        if try folder == nil || !isFolder(folder!) || modified(stamp)! < newestSource() { folder = try write(stamp) }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder!).sorted()
        return try modules.map { module in
            let own = names.filter {
                $0.hasSuffix(".symbols.json") && ($0 == "\(module).symbols.json" || $0.hasPrefix("\(module)@"))
            }
            if !own.contains("\(module).symbols.json") { throw Failure("\(module) has no symbols") }
            return (module, own.map { "\(folder!)/\($0)" })
        }
    }

    static func graphs() throws -> [SymbolGraph] {
        try files().flatMap { try $0.files.map { try SymbolGraph(file: $0) } }
    }

    /// Has SwiftPM write the symbols. Returns their folder, which the file `stamp` has, as old as
    /// the sources are.
    private static func write(_ stamp: String) throws -> String {
        let begun = Date()
        try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
        for architecture in try FileManager.default.contentsOfDirectory(atPath: scratch) {
            try? FileManager.default.removeItem(atPath: "\(scratch)/\(architecture)/symbolgraph")
        }
        // It exits with 1 where the tests are not built, which is not asked for: what counts is
        // that it has written the symbols.
        let (_, log) = try Command(
            "swift",
            ["package", "--scratch-path", scratch, "--enable-all-traits", "dump-symbol-graph"]
                + ["--minimum-access-level", "public", "--skip-synthesized-members"],
            // Without `stress` and the tests.
            environment: ["CONCURRENT_OBSERVE_TESTS": "traits"]
        ).run()
        guard let folder = log.lines.last(where: { $0.hasPrefix("Files written to ") })?.dropFirst(17) else {
            throw Failure(log, "the symbols cannot be read")
        }
        try folder.write(toFile: stamp, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.modificationDate: begun], ofItemAtPath: stamp)
        return String(folder)
    }

    private static func newestSource() throws -> Date {
        let sources = try FileManager.default.subpathsOfDirectory(atPath: "Sources").filter { !$0.contains(".docc") }
        return (sources.map { "Sources/" + $0 } + ["Package.swift"]).compactMap(modified).max() ?? .distantFuture
    }

    private static func modified(_ path: String) -> Date? {
        try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
    }

    private static func isFolder(_ path: String) -> Bool {
        (try? FileManager.default.attributesOfItem(atPath: path)[.type]) as? FileAttributeType == .typeDirectory
    }
}
