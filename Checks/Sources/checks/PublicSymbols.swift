// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The public symbols of the library's products, as the compiler reports them with all traits on.
enum PublicSymbols {
    static let modules =
        ["ConcurrentObserve"] + (traits + ["Inspection", "Testing"]).map { "ConcurrentObserve\($0)" }
        + ["StressKit", "ExplorerKit"]

    /// Each of these traits has its own product. The mirror of etcd is left out, because it would
    /// build gRPC.
    private static let traits = [
        "Macros", "Metrics", "Logging", "ServiceLifecycle", "Configuration", "Collections", "Tracing",
    ]

    /// The folder in which Scripts/traits.sh has built the optional parts, if it has run.
    private static let scratch = ".build-traits"

    /// Returns the files with each module's symbols. Writes them again if a source has changed
    /// since the last time.
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

    /// Returns the files that SwiftPM has written last.
    private static func symbols() throws -> [String] {
        try Command("find", [scratch, "-path", "\(scratch)/symbolgraph/*.symbols.json"]).run(errors: false).output
            .split(separator: "\n").map(String.init).sorted()
    }

    /// Calls the compiler's own tool for each module. SwiftPM's `dump-symbol-graph` first builds
    /// the whole package, including gRPC, which takes 15 minutes.
    private static func write() throws {
        let begun = Date()
        // These are the traits with which Scripts/traits.sh has built. Other traits would build
        // everything again. `stress` and the tests are left out.
        let traits = (["default"] + traits).joined(separator: ",")
        let build = ["build", "--scratch-path", scratch, "--traits", traits]
        let environment = ["CONCURRENT_OBSERVE_TESTS": "traits"]
        try Command("swift", build, environment: environment).succeed("the library does not build")
        let products = try Command("swift", build + ["--show-bin-path"], environment: environment).succeed().chomped
        let output = "\(scratch)/symbolgraph"
        try? FileManager.default.removeItem(atPath: output)
        try FileManager.default.createDirectory(atPath: output, withIntermediateDirectories: true)
        for module in modules {
            try Command(
                "swift-symbolgraph-extract",
                [
                    "-module-name", module, "-I", "\(products)/Modules", "-I", "Sources/CURCU/Shims/include",
                    "-I", "Sources/CPlatform/include",
                    // swift-configuration needs the C headers of swift-system.
                    "-I", "\(scratch)/checkouts/swift-system/Sources/CSystem/include", "-target", target(),
                ] + [
                    "-output-dir", output, "-minimum-access-level", "public", "-skip-synthesized-members",
                ]
            ).succeed("the symbols of \(module) cannot be read")
        }
        // The files get the time of the start, so that a source that was changed since then counts
        // as newer.
        for file in try symbols() {
            try FileManager.default.setAttributes([.modificationDate: begun], ofItemAtPath: file)
        }
    }

    /// Returns the machine for which the compiler compiles.
    private static func target() throws -> String {
        let information = try Command("swiftc", ["-print-target-info"]).succeed()
        let parts = try JSONSerialization.jsonObject(with: Data(information.utf8)) as? [String: Any]
        guard let triple = (parts?["target"] as? [String: Any])?["triple"] as? String else {
            throw Failure("swiftc does not say for which machine it compiles")
        }
        return triple
    }

    private static func newestSource() throws -> Date {
        let sources = try FileManager.default.subpathsOfDirectory(atPath: "Sources").filter { !$0.contains(".docc") }
        return (sources.map { "Sources/" + $0 } + ["Package.swift"]).compactMap(modified).max() ?? .distantFuture
    }

    private static func modified(_ path: String) -> Date? {
        try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
    }
}
