// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Follows README's section "Adding it" as a new user does. A new package outside the repository
/// depends on the library as these pages say: once with a property only, and once with the macro,
/// as in the article GettingStarted.
///
/// Builds and runs both packages, and compares their output with the pages. They depend on a clone
/// of the last commit, with this commit as the branch `main` and without tags, as a reader gets the
/// repository. Changes that are not committed are not included.
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
        // Some copies of a repository have no tags, so nothing may need a tag.
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
            // Scripts/traits.sh has built swift-syntax there, which takes minutes. The clone is
            // removed afterwards, so no cache of the user should keep it.
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
            // The page pins the commit. A commit can be resolved without the branch.
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

/// The code of a new user, as the pages show it.
struct EmbeddingPages {
    let blocks: [Page.Block]

    /// Returns the first block in a language after the line <!-- MARK -->.
    func block(after mark: String, _ language: String) throws(Failure) -> String {
        let marked = blocks.drop { $0.mark != mark }
        guard let block = marked.first(where: { $0.language == language && !$0.lines.isEmpty }) else {
            throw Failure("README and GettingStarted have no block of \(language) after <!-- \(mark) -->")
        }
        return block.text
    }

    var manifest: String { get throws(Failure) { try block(after: "manifest", "swift") } }

    /// Returns the manifest with the commit in place of the branch, as README describes it.
    func pinned(_ manifest: String, to commit: String) throws(Failure) -> String {
        let branch = "branch: \"main\""
        guard manifest.contains(branch) else { throw Failure("the manifest does not ask for \(branch)") }
        return manifest.replacing(branch, with: "revision: \"\(commit)\"")
    }

    /// The manifest for the macro. Each of the macro's lines replaces the line that begins in the
    /// same way.
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
