// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Follows README's section "Adding it" as a new user does: a new package outside the repository
/// depends on the library as these pages say, once with a property alone and once with the macro,
/// as the article GettingStarted says.
///
/// Builds and runs both, and compares what they print with these pages. It depends on a clone of
/// the last commit, as its branch `main` and without tags, as a reader gets the repository:
/// uncommitted changes do not count.
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
        // Tags do not travel with every copy of a repository: nothing may need one.
        let clone = "\(work.path)/ConcurrentObserve.git"
        try Command("git", ["clone", "--quiet", "--bare", "--no-tags", "file://\(root)", clone]).succeed()
        let commit = try Command("git", ["rev-parse", "HEAD"]).succeed().chomped
        try Command("git", ["-C", clone, "update-ref", "refs/heads/main", commit]).succeed()

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
            guard lock.contains(commit) else { throw Failure("\(kind): resolves another commit than \(commit)") }
            let resolved = lock.between("\"identity\" : \"", "\"").sorted()
            let expected = ["concurrentobserve", "swift-argument-parser"] + (isMacro ? ["swift-syntax"] : [])
            if resolved != expected { throw Failure("\(kind): resolves \(resolved), expected \(expected)") }
            try package.run("Server", name: kind, expecting: pages.block(after: example, "text"))
            // By the commit, as the page says how to pin it: it resolves without the branch.
            try work.write(
                "\(kind)/Package.swift",
                pages.pinned(manifest.replacing(url, with: "\"file://\(clone)\""), to: commit)
            )
            let resolving = ["package", "--package-path", "\(work.path)/\(kind)", "--scratch-path", scratch, "resolve"]
            try Command("swift", resolving + ["--disable-dependency-cache"]).succeed(
                "\(kind), pinned, does not resolve"
            )
            return "\(kind): \(resolved.joined(separator: " "))"
        }.joined(separator: "; ")
    }
}

/// The code that a new user writes, by the pages.
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

    /// The manifest with the commit in place of the branch, as README says.
    func pinned(_ manifest: String, to commit: String) throws(Failure) -> String {
        let branch = "branch: \"main\""
        guard manifest.contains(branch) else { throw Failure("the manifest does not ask for \(branch)") }
        return manifest.replacing(branch, with: "revision: \"\(commit)\"")
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
