// SPDX-License-Identifier: Apache-2.0

/// What the library's sources show is the library: seeded bugs stand apart, and files are short.
extension Structure {
    /// The longest a file of the library may be, in lines.
    static let mostLines = 300

    func longFiles() -> [String] {
        libraryFiles.filter { code[$0]!.lines.count > Self.mostLines + 1 }
            .map { "\($0): more than \(Self.mostLines) lines: give a second topic a file of its own" }
    }

    /// A seeded bug is one guard in a function. Its wrong body is in a file that the product's build
    /// leaves empty.
    func seededBugs() -> [String] {
        libraryFiles.flatMap { path in
            path.hasSuffix("+Mutants.swift") ? bodiesOutsideTheDefine(path) : guards(path)
        }
    }

    private var libraryFiles: [String] {
        code.keys.filter { $0.hasPrefix(Self.sources + "/") && !$0.contains("/Instrumentation/") }.sorted()
    }

    private func bodiesOutsideTheDefine(_ path: String) -> [String] {
        let lines = code[path]!.lines.map { $0.drop(while: { $0 == " " }) }.filter { !$0.isEmpty }
        let isOneBlock =
            lines.first == "#if INSTRUMENTED" && lines.last == "#endif"
            && lines.dropFirst().dropLast().allSatisfy { !$0.hasPrefix("#") }
        return isOneBlock ? [] : ["\(path): all of it belongs into one #if INSTRUMENTED"]
    }

    private func guards(_ path: String) -> [String] {
        var found: [String] = []
        var isGuarded = false
        for (index, line) in code[path]!.lines.enumerated() {
            if Self.beginsFunction(line) { isGuarded = false }
            guard line.contains("mutant(") else { continue }
            let place = "\(path):\(index + 1)"
            let before = index > 0 ? code[path]!.lines[index - 1] : ""
            if line.wholeMatch(of: /\s*(if|guard) mutant\(\.\w+\).*/) == nil || !before.hasSuffix("#if INSTRUMENTED") {
                found.append("\(place): a seeded bug is a guard of its own, behind #if INSTRUMENTED")
            }
            if isGuarded { found.append("\(place): a second seeded bug in one function") }
            isGuarded = true
        }
        return found
    }

    private static func beginsFunction(_ line: String) -> Bool {
        line.contains(/\b(func|init|subscript)\b.*[({]|\bvar \w+[^=]*\{|^\s*(get|set)\b/)
    }
}
