// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Checks that the examples of Markdown files build, and print the expected output.
///
/// An example is a ```swift block after a line `<!-- example -->`. The next ```text block is its
/// exact output.
enum MarkdownExamples {
    static func check(_ files: [String]) throws -> String {
        var examples: [(name: String, code: String, output: String)] = []
        for file in files {
            for (code, output) in try Page(String(contentsOfFile: file, encoding: .utf8)).examples("example") {
                let name = "Example\(examples.count + 1)"
                guard let output else { throw Failure("\(name) of \(file) has no ```text block") }
                examples.append((name, code, output))
            }
        }
        if examples.isEmpty { throw Failure("no example: mark one with a line <!-- example -->", code: 2) }
        // A relative path, because the path of the checkout may have characters that a manifest
        // must escape.
        let work = try TemporaryFolder(at: ".build/pages")
        for example in examples { try work.write("Sources/\(example.name)/main.swift", example.code) }
        try work.write(
            "Package.swift",
            """
            // swift-tools-version: 6.2
            import PackageDescription
            let library = Target.Dependency.product(name: "ConcurrentObserve", package: "ConcurrentObserve")
            let package = Package(
                name: "Examples",
                dependencies: [.package(name: "ConcurrentObserve", path: "../..")],
                targets: \(examples.map(\.name)).map { .executableTarget(name: $0, dependencies: [library]) },
                swiftLanguageModes: [.v6]
            )
            """
        )
        let package = try BuiltPackage(at: work.path, name: "an example", in: BuiltPackage.scratch)
        for example in examples { try package.run(example.name, name: example.name, expecting: example.output) }
        return "\(examples.count) examples"
    }
}
