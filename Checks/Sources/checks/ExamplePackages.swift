// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Checks that the packages in `Examples` build without a warning, and print the text of the file
/// expected.txt next to their manifests.
///
/// A package with several programs has an expected/NAME.txt for each. If a package has a check.sh,
/// that script checks it instead.
enum ExamplePackages {
    static func check(_ names: [String]) throws -> String {
        let files = FileManager.default
        let all = try files.contentsOfDirectory(atPath: "Examples")
            .filter { files.fileExists(atPath: "Examples/\($0)/Package.swift") }.sorted()
        if let strange = names.first(where: { !all.contains($0) }) {
            throw Failure("no package Examples/\(strange)", code: 2)
        }
        var programs = 0
        for name in names.isEmpty ? all : names {
            let folder = "Examples/\(name)"
            if files.isExecutableFile(atPath: "\(folder)/check.sh") {
                try Command("./check.sh", [], in: folder).succeed("\(name) fails")
                programs += 1
                continue
            }
            let expected = try expectations(of: name, in: folder)
            if expected.isEmpty { throw Failure("\(name) has no expected.txt") }
            let package = try BuiltPackage(at: folder, name: name, in: BuiltPackage.scratch)
            try refuseWarnings(in: package.log, of: "\(files.currentDirectoryPath)/\(folder)/")
            for (program, text) in expected { try package.run(program, name: program, expecting: text) }
            programs += expected.count
        }
        return "\(programs) examples"
    }

    /// Returns each program of a package, with the text that it must print.
    static func expectations(of name: String, in folder: String) throws -> [(program: String, text: String)] {
        var expected: [(String, String)] = []
        let list = (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/expected"))?.sorted() ?? []
        for file in ["expected.txt"] + list.map({ "expected/\($0)" }) where file.hasSuffix(".txt") {
            guard let text = try? String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8) else { continue }
            expected.append((file == "expected.txt" ? name : String(file.dropFirst(9).dropLast(4)), text))
        }
        return expected
    }

    /// Fails if a build has a warning about a file below the folder.
    static func refuseWarnings(in log: String, of folder: String) throws {
        let warnings = log.lines.filter { $0.contains(folder) && $0.contains(": warning:") }.map(String.init)
        if !warnings.isEmpty { throw Failure(warnings + ["the warnings above are errors"]) }
    }
}
