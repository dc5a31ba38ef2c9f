// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The documentation of the library and of its optional parts, built with the toolchain's DocC. A
/// warning is an error, and so is a public symbol without documentation.
enum Documentation {
    static func check(_ arguments: [String]) throws -> String {
        if arguments.count > 1 || arguments.first?.hasPrefix("-") == true {
            throw Failure("one folder at most", code: 2)
        }
        let graphs = try PublicSymbols.graphs()
        let undocumented = graphs.flatMap(\.undocumented)
        if !undocumented.isEmpty {
            throw Failure(undocumented + ["\(undocumented.count) public symbols above have no documentation"])
        }
        let work = try TemporaryFolder()
        let output = arguments.first ?? "\(work.path)/archives"
        for (module, files) in try PublicSymbols.files() {
            for file in files {
                try work.write(
                    "\(module)/\((file as NSString).lastPathComponent)",
                    String(contentsOfFile: file, encoding: .utf8)
                )
            }
            let catalog = "Sources/\(module)/\(module).docc"
            try convert(module, symbols: "\(work.path)/\(module)", catalog: catalog, to: output)
        }
        let verdict = "\(graphs.map(\.symbols.count).reduce(0, +)) public symbols documented"
        return arguments.isEmpty ? verdict : "\(verdict)\n\(howToRead(output))"
    }

    private static func howToRead(_ output: String) -> String {
        """
        The archives are in \(output). To read them in a browser:
          docc merge \(output)/*.doccarchive --output-path \(output)/merged/All.doccarchive
          docc process-archive transform-for-static-hosting \(output)/merged/All.doccarchive --output-path \(output)/html
          python3 -m http.server --directory \(output)/html 8000
        and open http://localhost:8000/documentation/concurrentobserve
        """
    }

    /// Builds a module's archive; fails on a warning.
    static func convert(_ module: String, symbols: String, catalog: String?, to output: String) throws {
        try FileManager.default.createDirectory(atPath: output, withIntermediateDirectories: true)
        let arguments = [
            "--additional-symbol-graph-dir", symbols, "--output-dir", "\(output)/\(module).doccarchive",
            "--fallback-display-name", module, "--fallback-bundle-identifier", module, "--warnings-as-errors",
        ]
        try Command("docc", ["convert"] + [catalog].compactMap { $0 } + arguments)
            .succeed("the warnings above, of \(module), are errors")
    }
}
