// SPDX-License-Identifier: Apache-2.0

/// Checks the structure of the sources where the compiler cannot.
///
/// Rooms depend only on lower rooms. C and `unsafe` occur only in their places. No manifest of a
/// package that others may use has unsafe flags. Every file names its licence. No generated file is
/// tracked.
struct Structure {
    static let sources = "Sources/ConcurrentObserve"

    /// The rooms, the lowest first. A room uses no name of the rooms after it.
    static let rooms = [
        "Platform", "Hazards", "Reclamation", "Registry", "Property", "Transaction", "Delivery", "KeyPaths", "Binding",
        "Derivation", "Diagnostics",
    ]

    /// The rooms that are modules of their own, each with its module. Code of another room imports
    /// the module, and the compiler then holds this border, too.
    static let modules = ["Platform": "ConcurrentObservePlatform"]

    /// The largest number of lines of a file of the library.
    static let mostLines = 400

    /// The room that may import C, including the system's library.
    static let roomOfC = "Platform"

    let checkout: Checkout
    private(set) var code: [String: SwiftCode] = [:]
    private let unsafeFiles: Set<String>

    init(_ checkout: Checkout, unsafeFiles: Set<String> = Self.unsafeFiles) {
        self.checkout = checkout
        self.unsafeFiles = unsafeFiles
        for path in checkout.swiftFiles(below: "Sources") + manifests
        where path.hasPrefix(Self.sources) || isManifest(path) {
            code[path] = checkout.text(path).map(SwiftCode.init)
        }
    }

    func check() throws -> String {
        let found = violations()
        if !found.isEmpty { throw Failure(found + ["\(found.count) violations above"]) }
        return "\(code.count) files, \(unsafeFiles.count) of them with unsafe code"
    }

    /// Returns one line for each violation.
    func violations() -> [String] {
        unknownRooms() + importsOfC() + publicInside() + dependenciesUpwards() + unsafeElsewhere() + unsafeNowhere()
            + unsafeFlags() + licences() + importsOfFoundation() + mutexes() + longFiles() + instrumentation()
            + generated()
    }

    private func files(of room: String) -> [String] { checkout.swiftFiles(below: "\(Self.sources)/\(room)") }

    private func unknownRooms() -> [String] {
        let known = Self.rooms + ["ConcurrentObserve.docc"]
        let inside = checkout.paths.filter { $0.hasPrefix(Self.sources + "/") }
            .map { $0.dropFirst(Self.sources.count + 1).split(separator: "/") }
        let strange = Set(inside.filter { $0.count > 1 }.map { String($0[0]) }).subtracting(known).sorted()
        return strange.map { "\(Self.sources)/\($0): a room this check does not know: say in it what the room may use" }
            + inside.filter { $0.count == 1 && $0[0].hasSuffix(".swift") }
            .map { "\(Self.sources)/\($0[0]): belongs to no room" }.sorted()
    }

    private func importsOfC() -> [String] {
        Self.rooms.filter { $0 != Self.roomOfC }.flatMap(files).flatMap { path in
            (code[path]?.imports { ["CPlatform", "CURCU", "CLiburcu", "Glibc", "Musl", "Darwin"].contains($0) } ?? [])
                .map { "\(path):\($0): imports C: only \(Self.roomOfC) may" }
        }
    }

    /// Finds public declarations in rooms that are modules of their own. No product has these
    /// modules, but every package that depends on the library can import them.
    private func publicInside() -> [String] {
        Self.modules.keys.sorted().flatMap(files).flatMap { path in
            let imports = code[path]?.imports { _ in true } ?? []
            return (code[path]?.lines { ["public", "open"].contains($0) } ?? []).filter { !imports.contains($0) }
                .map { "\(path):\($0): public: the library's own modules have declarations of the package only" }
        }
    }

    // MARK: Dependencies

    private func dependenciesUpwards() -> [String] {
        let declared = Dictionary(uniqueKeysWithValues: Self.rooms.map { ($0, declarations(in: $0)) })
        return Self.rooms.enumerated().flatMap { index, room in
            Self.rooms[(index + 1)...].flatMap { upper -> [String] in
                // If the room declares a name itself, too, the two are overloads.
                let names = declared[upper]!.subtracting(declared[room]!)
                return files(of: room).flatMap { uses(of: names, in: $0) }
                    .map { "\($0) is declared above, in \(upper), which \(room) must not know" }
            }
        }
    }

    /// Returns the names of the types and functions that a room declares at the top level, where
    /// lines are not indented.
    private func declarations(in room: String) -> Set<String> {
        let kinds: Set = ["class", "struct", "enum", "actor", "protocol", "typealias", "func", "let", "var"]
        var names: Set<String> = []
        for path in files(of: room) {
            guard let code = code[path] else { continue }
            for (line, words) in zip(code.lines, code.words) where line.first != " " {
                // Modifiers and attributes may come before it. `extension Name` is no declaration.
                guard line.first == "@" || line.first?.isLowercase == true,
                    let kind = words.firstIndex(where: { kinds.contains($0.text) }), kind + 1 < words.count,
                    words[..<kind].allSatisfy({ $0.text.first!.isLowercase })
                else { continue }
                let name = words[kind + 1].text
                if !["func", "init", "subscript"].contains(name) { names.insert(name) }
            }
        }
        return names
    }

    /// Returns the places in which a file uses one of these names. A member with the same name is
    /// not such a use. A name in lower case counts only if it is called: otherwise it is a label or
    /// a local name.
    private func uses(of names: Set<String>, in path: String) -> [String] {
        guard let words = code[path]?.words else { return [] }
        return words.enumerated().flatMap { line, words in
            words.filter { word in
                guard names.contains(word.text), !word.isMember else { return false }
                let isCalled = word.next == UInt8(ascii: "(") || word.next == UInt8(ascii: "<")
                return isCalled || word.text.utf8.first.map { $0 < UInt8(ascii: "a") } == true
            }.map { "\(path):\(line + 1): \($0.text)" }
        }
    }

    // MARK: Memory safety

    private func unsafeElsewhere() -> [String] {
        checkout.swiftFiles(below: Self.sources).filter { !unsafeFiles.contains(inLibrary($0)) }.flatMap { path in
            unsafeLines(path).map { "\(path):\($0): 'unsafe' outside the files that may use it" }
        }
    }

    private func unsafeNowhere() -> [String] {
        unsafeFiles.sorted().map { "\(Self.sources)/\($0)" }.compactMap { path in
            if code[path] == nil { return "\(path): may use 'unsafe', but does not exist" }
            return unsafeLines(path).isEmpty ? "\(path): may use 'unsafe', but does not" : nil
        }
    }

    private func unsafeLines(_ path: String) -> [Int] { code[path]?.lines { $0 == "unsafe" } ?? [] }

    private func inLibrary(_ path: String) -> String { String(path.dropFirst(Self.sources.count + 1)) }

    private func unsafeFlags() -> [String] {
        manifests.filter { $0 != "Instrumented/Package.swift" }.flatMap { path in
            (code[path]?.lines { $0 == "unsafeFlags" } ?? [])
                .map { "\(path):\($0): unsafe flags: SwiftPM refuses them in dependencies" }
        }
    }

    private var manifests: [String] { checkout.paths.filter(isManifest).sorted() }

    private func isManifest(_ path: String) -> Bool {
        let name = path.split(separator: "/").last ?? ""
        return name.hasPrefix("Package") && name.hasSuffix(".swift")
    }

    // MARK: What every file has, and none

    private func licences() -> [String] {
        let kinds = [".swift", ".c", ".h", ".sh", ".awk", ".py"]
        return checkout.paths.filter { path in kinds.contains { path.hasSuffix($0) } }.sorted().compactMap { path in
            guard let text = checkout.text(path) else { return nil }
            var lines = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)[...]
            // These lines must come first.
            if text.hasPrefix("#!") || text.hasPrefix("// swift-tools-version") { lines = lines.dropFirst() }
            let licence = "SPDX-License-Identifier: Apache-2.0"
            if lines.first == "// \(licence)" || lines.first == "# \(licence)" { return nil }
            return "\(path):1: does not begin with its licence, \(licence)"
        }
    }

    private func importsOfFoundation() -> [String] {
        checkout.swiftFiles(below: Self.sources).flatMap { path in
            (code[path]?.imports { $0.hasPrefix("Foundation") } ?? [])
                .map { "\(path):\($0): the library does not import Foundation" }
        }
    }

    /// Finds uses of the standard library's `Mutex`. ThreadSanitizer cannot follow its slow path,
    /// and no `Mutex` traps in the child of a fork. (P18)
    private func mutexes() -> [String] {
        code.keys.filter { path in
            let folder = path.split(separator: "/").dropFirst().first ?? ""
            return path.hasPrefix(Self.sources) && !folder.hasSuffix("Plugin")
        }.sorted().flatMap { path in
            code[path]!.lines { $0 == "Mutex" }
                .map { "\(path):\($0): a Mutex: ThreadSanitizer cannot see into it; use Lock, SourceLock or an atomic" }
        }
    }

    private func longFiles() -> [String] {
        checkout.swiftFiles(below: Self.sources).filter { code[$0]!.lines.count > Self.mostLines + 1 }
            .map { "\($0): more than \(Self.mostLines) lines: give a second topic a file of its own" }
    }

    /// Finds seeded bugs and injection points in the sources. They must be edits of a copy.
    private func instrumentation() -> [String] {
        checkout.swiftFiles(below: Self.sources).flatMap { path in
            (code[path]?.lines { $0.contains(/^(INSTRUMENTED|mutant|inject|explored.*)$/) } ?? [])
                .map { "\(path):\($0): instrumentation belongs into Instrumented/Edits" }
        }
    }

    private func generated() -> [String] {
        checkout.tracked.filter { path in
            let names = path.split(separator: "/")
            return names.last == "Package.resolved" || names.dropLast().contains { $0 == ".build" || $0 == ".swiftpm" }
        }.sorted().map { "\($0): generated, and tracked" }
    }
}
