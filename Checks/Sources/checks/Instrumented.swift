// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The instrumented copy of the library: its sources with edits, additional files, and the list of
/// seeded bugs. Git ignores it.
///
/// Every anchor must occur exactly once, and every edit must change something.
///
/// The copy is one module. Its edits let all rooms call the explorer, also the rooms that are
/// modules of their own in the library.
struct Instrumented {
    static let copy = "Instrumented/Sources/ConcurrentObserveInstrumented"
    static let edits = "Instrumented/Edits/"
    private static let added = "Instrumented/Added/"

    /// The files of the copy, by their paths in it.
    private(set) var files: [String: String] = [:]
    private var count = 0

    init(_ checkout: Checkout) throws {
        let list = try EditList(checkout, below: Self.edits)
        var all = list.edits
        count = all.values.reduce(0) { $0 + $1.count }
        for path in checkout.paths.sorted() where path.hasPrefix(Structure.sources + "/") && path.hasSuffix(".swift") {
            let inside = String(path.dropFirst(Structure.sources.count + 1))
            let text = Self.withoutOwnImports(checkout.text(path) ?? "")
            guard let edits = all.removeValue(forKey: inside) else {
                files[inside] = text
                continue
            }
            // The edited file gets another name, because its `#sourceLocation` lines give the
            // original name to the compiler.
            files[inside.dropLast(6) + ".edited.swift"] = try EditedFile(path, text).apply(edits)
        }
        if let (file, edits) = all.min(by: { $0.key < $1.key }) {
            throw Failure("\(edits[0].origin): the library has no file \(file)")
        }
        for path in checkout.paths where path.hasPrefix(Self.added) {
            let inside = String(path.dropFirst(Self.added.count))
            if checkout.text("\(Structure.sources)/\(inside)") != nil {
                throw Failure("\(path): the library has a file of this name")
            }
            files[inside] = checkout.text(path)
        }
        files["SeededBug.swift"] = Self.list(list.bugs.map(\.name).sorted())
    }

    /// Returns the text without its imports of the library's own modules. Their lines stay, empty,
    /// so that every other line keeps its number.
    private static func withoutOwnImports(_ text: String) -> String {
        Structure.modules.values.reduce(text) { text, module in
            text.split(separator: "\n", omittingEmptySubsequences: false)
                .map { $0.split(separator: " ").suffix(2) == ["import", module[...]] ? "" : $0 }
                .joined(separator: "\n")
        }
    }

    private static func list(_ bugs: [String]) -> String {
        """
        /// A bug that is seeded in the library, to prove that a check finds it.
        public enum SeededBug: String, CaseIterable, Sendable {
        \(bugs.map { "    case \(Edit.identifier($0)) = \"\($0)\"\n" }.joined())}

        """
    }

    /// Makes the copy again. Files that have not changed are not written, so the build does not
    /// compile them again.
    static func write(_ checkout: Checkout) throws -> String {
        let made = try Instrumented(checkout)
        let manager = FileManager.default
        for path in manager.subpaths(atPath: copy) ?? [] where path.hasSuffix(".swift") && made.files[path] == nil {
            try manager.removeItem(atPath: "\(copy)/\(path)")
        }
        for (path, text) in made.files { try PackageCopy.write(text, "\(copy)/\(path)") }
        return "\(copy) with \(made.count) edits"
    }
}

extension EditList {
    /// Reads the files of edits below a folder.
    init(_ checkout: Checkout, below folder: String) throws {
        try self.init("", "")
        for path in checkout.paths.sorted() where path.hasPrefix(folder) && path.hasSuffix(".txt") {
            try merge(EditList(path, checkout.text(path) ?? ""))
        }
    }
}
