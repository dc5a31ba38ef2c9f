// SPDX-License-Identifier: Apache-2.0

import Foundation

@testable import mutants

/// A package in its own folder, which is removed at the end.
final class ToyPackage {
    let path: String

    static let source = """
        func add(_ a: Int, _ b: Int) -> Int {
            let sum = a + b
            check(sum)
            check(sum)
            return sum
        }

        """

    /// Makes the package.
    ///
    /// - Parameter edits: The text of `Bugs/Toy.txt` below its first line, which names the file.
    ///   Nil if there is no such folder.
    init(edits: String? = nil) throws {
        path = FileManager.default.temporaryDirectory.resolvingSymlinksInPath().path + "/toy-\(UUID().uuidString)"
        try write("Package.swift", "// swift-tools-version: 6.2\n")
        try write("Sources/Toy/Toy.swift", Self.source)
        if let edits { try write("Bugs/Toy.txt", "file Sources/Toy/Toy.swift\n" + edits) }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ file: String, _ text: String) throws { try PackageCopy.write(text, "\(path)/\(file)") }

    func text(_ file: String) -> String? { try? String(contentsOfFile: "\(path)/\(file)", encoding: .utf8) }

    /// Returns the text of a file of the copy.
    func copied(_ file: String) -> String? { text(".build/mutants/\((path as NSString).lastPathComponent)/\(file)") }

    func seeded(_ edits: String = "Bugs") throws -> SeededPackage { try SeededPackage(at: path, edits: edits) }

    /// Returns the text of the error for its edits; nil if there is none.
    func refusal(_ edits: String = "Bugs") -> String? {
        do {
            _ = try seeded(edits)
            return nil
        } catch let failure as Failure {
            return failure.lines.joined(separator: "\n")
        } catch {
            return "\(error)"
        }
    }
}
