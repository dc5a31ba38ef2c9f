// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Follows README's section "Adding it" as a new user does: a new package outside the repository
/// depends on the library by URL and version, once with a property alone and once with the macro,
/// as the article GettingStarted says.
///
/// Builds and runs both, and compares what they print with these pages. It clones and tags the last
/// commit: uncommitted changes do not count.
enum Embedding {
    static func check(_ arguments: [String]) throws -> String {
        guard arguments.isEmpty || arguments == ["plain"] || arguments == ["macro"] else {
            throw Failure("plain or macro", code: 2)
        }
        let work = try TemporaryFolder()
        let root = FileManager.default.currentDirectoryPath
        let article = "HEAD:Sources/ConcurrentObserve/ConcurrentObserve.docc/GettingStarted.md"
        let text = try Command("git", ["show", "HEAD:README.md", article]).succeed()
        let pages = EmbeddingPages(blocks: Page(text).blocks)
        let version = try pages.version
        // Without the tags that there are: this one is the only release.
        let clone = "\(work.path)/ConcurrentObserve.git"
        try Command("git", ["clone", "--quiet", "--bare", "--no-tags", "file://\(root)", clone]).succeed()
        let commit = try Command("git", ["rev-parse", "HEAD"]).succeed().chomped
        try Command("git", ["-C", clone, "tag", version, commit]).succeed()

        return try (arguments.isEmpty ? ["plain", "macro"] : arguments).map { kind in
            let isMacro = kind == "macro"
            let manifest = try isMacro ? pages.manifestWithMacro : pages.manifest
            let example = isMacro ? "macro example" : "example"
            let url = #/"https://[^"]*/ConcurrentObserve.git"/#
            try work.write("\(kind)/Package.swift", manifest.replacing(url, with: "\"file://\(clone)\""))
            try work.write("\(kind)/Sources/Server/main.swift", pages.block(after: example, "swift"))
            // Where Scripts/traits.sh has built swift-syntax, which takes minutes. The repository
            // is gone after this: no cache of the user's should keep it.
            let scratch = isMacro ? "\(root)/.build-traits" : "\(work.path)/\(kind)/.build"
            let package = try BuiltPackage(
                at: "\(work.path)/\(kind)",
                name: kind,
                in: scratch,
                options: ["--disable-dependency-cache"]
            )
            let lock = try String(contentsOfFile: "\(work.path)/\(kind)/Package.resolved", encoding: .utf8)
            let resolved = lock.between("\"identity\" : \"", "\"").sorted()
            let expected = ["concurrentobserve", "swift-argument-parser"] + (isMacro ? ["swift-syntax"] : [])
            if resolved != expected { throw Failure("\(kind): resolves \(resolved), expected \(expected)") }
            try package.run("Server", name: kind, expecting: pages.block(after: example, "text"))
            return "\(kind): \(resolved.joined(separator: " "))"
        }.joined(separator: "; ")
    }
}

/// What a new user writes, by the pages.
struct EmbeddingPages {
    let blocks: [Page.Block]

    /// The first block in a language after the line <!-- MARK -->.
    func block(after mark: String, _ language: String) throws(Failure) -> String {
        let marked = blocks.drop { $0.mark != mark }
        guard let block = marked.first(where: { $0.language == language && !$0.lines.isEmpty }) else {
            throw Failure("README and GettingStarted have no block of \(language) after <!-- \(mark) -->")
        }
        return block.text
    }

    var manifest: String { get throws(Failure) { try block(after: "manifest", "swift") } }

    var version: String {
        get throws(Failure) {
            let versions = try manifest.between(" from: \"", "\"")
            guard let version = versions.first(where: { $0.contains(/^[0-9.]+$/) }) else {
                throw Failure("README's manifest asks for no version")
            }
            return version
        }
    }

    /// A line of those for the macro takes the place of the one that begins as it does.
    var manifestWithMacro: String {
        get throws(Failure) {
            func beginning(_ line: Substring) -> Substring? { line.split(separator: " ").first?.prefix(9) }
            let instead = try block(after: "manifest, these lines instead", "swift").lines
            let plain = try manifest.lines
            let changed = plain.map { line in instead.last { beginning($0) == beginning(line) } ?? line }
            guard zip(plain, changed).filter({ $0 != $1 }).count == instead.count else {
                throw Failure("the lines for the macro do not fit into README's manifest")
            }
            return changed.map { $0 + "\n" }.joined()
        }
    }
}
