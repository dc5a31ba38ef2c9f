// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A package and the bugs that a folder of edits seeds in a copy of it.
struct SeededPackage {
    let copy: PackageCopy
    let bugs: [SeededBug]
    /// The new texts of files in the copy, by path; nil for a file that the copy does not have.
    private var changes: [String: String?] = [:]
    private var targets: Set<String> = []

    /// Finds the place of each edit. Writes nothing.
    ///
    /// - Parameters:
    ///   - package: The absolute path of the package.
    ///   - folder: The path of the folder of edits, relative to the package.
    init(at package: String, edits folder: String) throws {
        let files = FileManager.default
        let package = URL(fileURLWithPath: package).resolvingSymlinksInPath().path
        if !files.fileExists(atPath: package + "/Package.swift") { throw Failure("\(package) has no Package.swift") }
        let edits = folder.hasPrefix("/") ? folder : "\(package)/\(folder)"
        guard let names = try? files.contentsOfDirectory(atPath: edits) else { throw Failure("no folder \(folder)") }
        copy = PackageCopy(of: package, in: "\(package)/.build/mutants/\((package as NSString).lastPathComponent)")

        var list = try EditList("", "")
        for name in names.sorted() where name.hasSuffix(".txt") {
            let text = try String(contentsOfFile: "\(edits)/\(name)", encoding: .utf8)
            try list.merge(EditList("\(folder)/\(name)", text.replacingOccurrences(of: "\r\n", with: "\n")))
        }
        bugs = list.bugs
        if bugs.isEmpty { throw Failure("no bug in \(folder)/*.txt") }
        for (file, edits) in list.edits.sorted(by: { $0.key < $1.key }) {
            if file.hasPrefix("/") || file.split(separator: "/").contains("..") {
                throw Failure("\(edits[0].origin): \(file) is no path within the package")
            }
            guard let text = try? String(contentsOfFile: "\(package)/\(file)", encoding: .utf8) else {
                throw Failure("\(edits[0].origin): the package has no file \(file)")
            }
            // The copy has the same link, which would lead to the original file.
            if URL(fileURLWithPath: "\(package)/\(file)").resolvingSymlinksInPath().path != "\(package)/\(file)" {
                throw Failure("\(edits[0].origin): \(file) is behind a link")
            }
            try edit(file, text, edits)
        }
        for target in targets {
            let file = "\(target)/SeededBug.swift"
            if files.fileExists(atPath: "\(package)/\(file)") { throw Failure("the package has a file \(file)") }
            changes[file] = bugSwitch
        }
    }

    /// Makes the edited copy, or updates it.
    func write() throws { try copy.renew(changes) }

    /// Returns the bugs whose names have a pattern; all bugs if the pattern is nil.
    func named(_ pattern: String?) throws -> [SeededBug] {
        guard let pattern else { return bugs }
        guard let regex = try? Regex(pattern) else { throw Failure("no pattern: \(pattern)") }
        let chosen = bugs.filter { $0.name.contains(regex) }
        if chosen.isEmpty { throw Failure("no bug has \(pattern) in its name") }
        return chosen
    }

    private mutating func edit(_ file: String, _ text: String, _ edits: [Edit]) throws {
        var edited = try EditedFile(file, text).apply(edits)
        if file.hasSuffix("/main.swift") {
            // `main.swift` keeps its name, which says where the program begins.
            edited = edited.split(separator: "\n", omittingEmptySubsequences: false)
                .filter { !$0.hasPrefix("#sourceLocation") }.joined(separator: "\n")
            changes[file] = edited
        } else {
            // The edited file gets another name, because its `#sourceLocation` lines give the
            // original name to the compiler.
            changes[file] = .some(nil)
            changes[file.dropLast(6) + ".edited.swift"] = edited
        }
        guard let target = target(of: file) else {
            throw Failure("\(edits[0].origin): \(file) is not below Sources/TARGET, where a target's files are")
        }
        targets.insert(target)
    }

    /// Returns the folder of the file's target: the one below `Sources`, or `Sources` itself.
    private func target(of file: String) -> String? {
        let parts = file.split(separator: "/")
        guard ["Sources", "Source", "src", "srcs"].contains(parts.first), parts.count > 1 else { return nil }
        return parts.prefix(parts.count > 2 ? 2 : 1).joined(separator: "/")
    }

    /// The text of the file that is added to each edited target of the copy.
    private var bugSwitch: String {
        """
        #if canImport(Glibc)
        import Glibc
        #elseif canImport(Musl)
        import Musl
        #else
        import Darwin
        #endif

        /// A bug that is seeded in this copy.
        @usableFromInline nonisolated enum SeededBug: String, Sendable {
        \(bugs.map { "    case \(Edit.identifier($0.name)) = \(String(reflecting: $0.name))" }.joined(separator: "\n"))

            /// The one that the environment names.
            // Safe: the text is copied while nothing changes the environment.
            fileprivate static let _chosen: SeededBug? = unsafe getenv("SEEDED_BUG").flatMap {
                SeededBug(rawValue: unsafe String(cString: $0))
            }
        }

        /// Whether a seeded bug is on.
        @usableFromInline nonisolated func mutant(_ bug: SeededBug) -> Bool { bug == SeededBug._chosen }

        """
    }
}
