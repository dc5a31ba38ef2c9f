// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Compares the public API with Documentation/public-api.txt, so that a person reads each change of
/// the API. Also compares it with Documentation/released-api.txt, the API of the last release.
/// Every clone can compare, with or without tags.
///
/// Programs break if a symbol is removed or declared in another way, and also by a new case of an
/// enum and a new requirement of a protocol. Documentation/accepted-breaks.txt has the intended
/// breaks until their release, as this check prints them.
///
/// `swift package diagnose-api-breaking-changes` does less: with Swift 6.3.1 it builds the release
/// without traits, so it misses symbols that were removed from an optional part. It also needs the
/// commit of the release, which a clone may not have.
enum PublicAPI {
    static let present = "Documentation/public-api.txt"
    static let record = "Documentation/released-api.txt"
    static let accepted = "Documentation/accepted-breaks.txt"

    static func check(_ arguments: [String]) throws -> String {
        switch arguments.count {
        case 0: return try compare()
        case 1 where arguments == ["--write"]:
            try write(declarations(), to: present, "# The public API: written by Scripts/check.sh api --write.")
            return "written to \(present)"
        case 2 where arguments[0] == "--record" && arguments[1].wholeMatch(of: /\d+\.\d+\.\d+/) != nil:
            return try record(release: arguments[1])
        default: throw Failure("--write takes nothing, --record a version, as 0.1.0 is", code: 2)
        }
    }

    private static func compare() throws -> String {
        let checkout = try Checkout.current()
        // A clone without tags or history finds no tag.
        let tag = try Command("git", ["describe", "--tags", "--abbrev=0", "--match", "[0-9]*"]).run(errors: false)
        let last = tag.code == 0 ? tag.output.chomped : nil
        let tagged = try last.map { try Command("git", ["show", "\($0):\(record)"]).run(errors: false).output }
        let version = try version(in: checkout, lastTag: last, recordOfTag: tagged)
        if last == nil { print("api: this clone has no tag of a release: \(record) is taken as it is") }
        let now = try declarations()
        let before = entries(checkout.text(record))
        let unwritten = differences(of: now, from: entries(checkout.text(present)))
        if !unwritten.isEmpty { throw Failure(unwritten + ["\(present) lacks that: Scripts/check.sh api --write"]) }
        let types = visibleTypes(now)
        if types.count > mostTypes {
            throw Failure(types + ["\(types.count) types are visible, and at most \(mostTypes) may be"])
        }
        let breaks = breaks(from: before, to: now, accepted: entries(checkout.text(accepted)))
        if !breaks.isEmpty { throw Failure(breaks + ["\(breaks.count) breaks with \(version) above"]) }
        return
            "\(before.count) declarations and conformances of \(version), \(now.count) now, with \(types.count) types of the library"
    }

    private static func declarations() throws -> Set<String> {
        try PublicSymbols.graphs().reduce(into: []) { $0.formUnion($1.declarations) }
    }

    private static func record(release: String) throws -> String {
        let now = try declarations()
        try write(now, to: present, "# The public API: written by Scripts/check.sh api --write.")
        try write(
            now,
            to: record,
            "# The public API of \(release): what Scripts/check.sh api compares with. Written by it at each release, and never by hand."
        )
        let meant =
            "# Breaks with the last release that are meant, as Scripts/check.sh api prints them. CHANGELOG says what to do about each.\n"
        try meant.write(toFile: accepted, atomically: true, encoding: .utf8)
        return "recorded \(release)"
    }

    private static func write(_ declarations: Set<String>, to path: String, _ first: String) throws {
        // The order of the character codes.
        let lines = declarations.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        try ([first] + lines).map { $0 + "\n" }.joined().write(toFile: path, atomically: true, encoding: .utf8)
    }

    /// The largest number of types in the library's documentation: 34, and `AsyncDerived` and
    /// `WhileObserved`.
    static let mostTypes = 36

    /// Returns the names of the library's types, including nested types and types without a
    /// declaration of their own. The compiler leaves out names that begin with an underscore.
    static func visibleTypes(_ declarations: Set<String>, module: String = "ConcurrentObserve") -> [String] {
        let kinds: Set<Substring> = ["class", "struct", "enum", "protocol", "typealias"]
        return declarations.compactMap { line in
            let words = line.split(separator: " ", maxSplits: 3)
            return words[0] == module && kinds.contains(words[1]) ? String(words[2]) : nil
        }.sorted()
    }

    /// Returns the public symbols that the file does not have, and the symbols of the file that are
    /// not public.
    static func differences(of now: Set<String>, from written: Set<String>) -> [String] {
        now.subtracting(written).map { "+ \($0)" }.sorted() + written.subtracting(now).map { "- \($0)" }.sorted()
    }

    /// Returns the lines of a list, without its comments.
    static func entries(_ text: String?) -> Set<String> {
        Set((text?.lines ?? []).filter { !$0.hasPrefix("#") && !$0.isEmpty }.map(String.init))
    }

    /// Returns the breaks that are not accepted, and the accepted lines that are no breaks.
    static func breaks(from before: Set<String>, to now: Set<String>, accepted: Set<String>) -> [String] {
        // A new case that switches do not know, or a new requirement that conforming types do not
        // have. If the type itself is new, no program uses it.
        let known = Set(before.map { $0.split(separator: " ").prefix(3).filter { !$0.isEmpty }.joined(separator: " ") })
        let new = now.subtracting(before).filter { line in
            let words = line.split(separator: " ", maxSplits: 3)
            guard words[1] == "enum.case" || words[1] == "requirement" else { return false }
            let type = words[2].split(separator: ".").dropLast().joined(separator: ".")
            return ["enum", "protocol"].contains { known.contains("\(words[0]) \($0) \(type)") }
        }
        let found = Set(before.subtracting(now).map { "gone or changed: \($0)" } + new.map { "new: \($0)" })
        return found.subtracting(accepted).sorted()
            + accepted.subtracting(found).sorted().map { "accepted, but not so: \($0)" }
    }

    /// Returns the version of the record. CHANGELOG, the manifests of README and the articles, and
    /// the last tag must agree with it.
    static func version(in checkout: Checkout, lastTag: String?, recordOfTag: String?) throws -> String {
        let text = checkout.text(record) ?? ""
        guard let version = text.prefixMatch(of: /# The public API of ([0-9.]*):/).map({ String($0.1) }) else {
            throw Failure("\(record) does not say which release it is of")
        }
        if checkout.text("CHANGELOG.md")?.contains("## [\(version)]") != true {
            throw Failure("CHANGELOG has no heading ## [\(version)], of which \(record) is")
        }
        let articles = checkout.paths.filter {
            $0.hasPrefix("Sources/ConcurrentObserve/ConcurrentObserve.docc/") && $0.hasSuffix(".md")
        }
        for page in ["README.md"] + articles.sorted() {
            for line in checkout.text(page)?.lines ?? [] where line.contains(/url: ".*from: "/) {
                if !line.contains("from: \"\(version)\"") {
                    throw Failure("\(page): a manifest is not for \(version), of which \(record) is")
                }
            }
        }
        if let lastTag, lastTag != version {
            throw Failure("the last tag is \(lastTag), \(record) is of \(version): record the API before a tag is set")
        }
        if lastTag != nil, recordOfTag != text {
            throw Failure(
                "\(record) is not that of tag \(version): restore it; what is meant to break goes into \(accepted)"
            )
        }
        return version
    }
}
