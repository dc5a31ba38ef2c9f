// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The examples of Markdown files build, and print what these say.
///
/// An example is a ```swift block after a line `<!-- example -->`; the next ```text block is its
/// exact output.
struct MarkdownExample: Equatable {
    var code: String
    var expected: String?
}

enum MarkdownExamples {
    static func check(_ files: [String]) throws -> String {
        let found = try files.flatMap { file in
            try examples(in: String(contentsOfFile: file, encoding: .utf8)).map { (file: file, example: $0) }
        }
        if found.isEmpty {
            throw Failure(
                "no example in \(files.joined(separator: " ")): mark one with a line <!-- example -->",
                code: 2
            )
        }
        // A relative path: the checkout's may hold characters that a manifest would have to escape.
        let work = try TemporaryFolder(at: ".build/pages")
        for (number, (_, example)) in found.enumerated() {
            try work.write("Sources/Example\(number + 1)/main.swift", example.code)
        }
        try work.write(
            "Package.swift",
            """
            // swift-tools-version: 6.2
            import PackageDescription
            let package = Package(
                name: "Examples",
                dependencies: [.package(name: "ConcurrentObserve", path: "../..")],
                targets: (1...\(found.count)).map { number in
                    .executableTarget(
                        name: "Example\\(number)",
                        dependencies: [.product(name: "ConcurrentObserve", package: "ConcurrentObserve")]
                    )
                },
                swiftLanguageModes: [.v6]
            )
            """
        )
        let package = try BuiltPackage(at: work.path, name: "an example", in: BuiltPackage.scratch)
        for (number, (file, example)) in found.enumerated() {
            let name = "Example\(number + 1) of \(file)"
            guard let expected = example.expected else { throw Failure("\(name) has no ```text block") }
            try package.run("Example\(number + 1)", name: name, expecting: expected)
        }
        return "\(found.count) examples"
    }

    static func examples(in page: String) -> [MarkdownExample] {
        var examples: [MarkdownExample] = []
        var isMarked = false
        var block: [Substring]?
        var isOutput = false
        for line in page.lines {
            if let lines = block {
                if !line.hasPrefix("```") {
                    block = lines + [line]
                    continue
                }
                let text = lines.map { $0 + "\n" }.joined()
                if isOutput { examples[examples.count - 1].expected = text } else { examples.append(.init(code: text)) }
                block = nil
            } else if line == "<!-- example -->" {
                isMarked = true
            } else if line == "```swift", isMarked {
                (isMarked, isOutput, block) = (false, false, [])
            } else if line == "```text", let last = examples.last, last.expected == nil {
                (isOutput, block) = (true, [])
            }
        }
        return examples
    }
}
