// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import mutants

@Suite("Seeded bugs in a copy of a package")
struct SeededPackageTests {
    @Test("The copy has the edited file and the switch; the package stays as it is")
    func copy() throws {
        let toy = try ToyPackage(
            edits: """
                in func add(
                    bug instead of a + b: the sum is a difference
                        a - b
                    found by ToyTests
                """
        )
        let seeded = try toy.seeded()
        #expect(seeded.bugs.map(\.name) == ["the sum is a difference"] && seeded.bugs[0].filter == "ToyTests")
        #expect(toy.copied("Package.swift") == nil)
        try seeded.write()
        #expect(toy.copied("Sources/Toy/Toy.swift") == nil)
        #expect(
            toy.copied("Sources/Toy/Toy.edited.swift")
                == "#sourceLocation(file: \"Sources/Toy/Toy.swift\", line: 1)\n"
                + ToyPackage.source.replacing("a + b", with: "(mutant(.theSumIsADifference) ? a - b : a + b)")
        )
        let list = toy.copied("Sources/Toy/SeededBug.swift") ?? ""
        #expect(list.contains("    case theSumIsADifference = \"the sum is a difference\"\n"))
        #expect(
            toy.text("Sources/Toy/Toy.swift") == ToyPackage.source && toy.text("Sources/Toy/SeededBug.swift") == nil
        )
    }

    @Test(
        "Edits without their place are refused with their line, before anything is written",
        arguments: [
            (
                "in func sub(\n    bug at the top: b\n        return 0",
                "Bugs/Toy.txt:3: “func sub(” occurs 0 times in Sources/Toy/Toy.swift"
            ),
            (
                "    bug before check(sum): b\n        return 0",
                "Bugs/Toy.txt:2: “check(sum)” occurs 2 times in Sources/Toy/Toy.swift"
            ),
            ("    bug instead of a + b: b\n        a + b", "Bugs/Toy.txt:2: changes nothing in Sources/Toy/Toy.swift"),
            (
                "    bug in place of return sum: b\n        return sum",
                "Bugs/Toy.txt:2: changes nothing in Sources/Toy/Toy.swift"
            ),
            (
                "    bug instead of a + b: b\n        a\n        b",
                "Bugs/Toy.txt:2: the text is one line, in place of a part of one"
            ),
            ("found by T", "Bugs/Toy.txt:2: tests of no bug"),
            ("bug elsewhere: b\nfound by T\nfound by U", "Bugs/Toy.txt:4: the bug has its tests already: T"),
            ("bug elsewhere: a b\nbug elsewhere: a-b", "Bugs/Toy.txt:3: in code, a-b is the same as a b"),
            ("bug elsewhere: 1 b", "Bugs/Toy.txt:2: the name of a bug begins with a letter: 1 b"),
            (
                "bug elsewhere: b\nfile Sources/Toy/No.swift\n    bug at the top: c\n        x()",
                "Bugs/Toy.txt:4: the package has no file Sources/Toy/No.swift"
            ),
            (
                "file Sources/../../toy/Toy.swift\n    bug at the top: c\n        x()",
                "Bugs/Toy.txt:3: Sources/../../toy/Toy.swift is no path within the package"
            ),
            ("", "no bug in Bugs/*.txt"),
        ]
    )
    func refused(edits: String, message: String) throws {
        let toy = try ToyPackage(edits: edits)
        #expect(toy.refusal() == message)
        #expect(!FileManager.default.fileExists(atPath: toy.path + "/.build"))
    }

    @Test("A folder that is missing, a file of no target and a file of the switch's name are refused")
    func folders() throws {
        let toy = try ToyPackage()
        #expect(toy.refusal() == "no folder Bugs")
        try toy.write("Bugs/Toy.txt", "file Other/Toy.swift\n    bug instead of 1: b\n        2")
        try toy.write("Other/Toy.swift", "let x = 1\n")
        #expect(
            toy.refusal() == "Bugs/Toy.txt:2: Other/Toy.swift is not below Sources/TARGET, where a target's files are"
        )
        try FileManager.default.createSymbolicLink(atPath: toy.path + "/Sources/Link", withDestinationPath: "Toy")
        try toy.write("Bugs/Toy.txt", "file Sources/Link/Toy.swift\n    bug instead of a + b: b\n        a")
        #expect(toy.refusal() == "Bugs/Toy.txt:2: Sources/Link/Toy.swift is behind a link")
        try toy.write("Bugs/Toy.txt", "file Sources/Toy/Toy.swift\n    bug instead of a + b: b\n        a")
        try toy.write("Sources/Toy/SeededBug.swift", "")
        #expect(toy.refusal() == "the package has a file Sources/Toy/SeededBug.swift")
    }

    @Test("Text at the top and at the end of a file", arguments: ["\n", ""])
    func wholeFile(ending: String) throws {
        let toy = try ToyPackage(
            edits: """
                bug elsewhere: b
                file Sources/Toy/One.swift
                in the file
                    insert at the top
                        import Foundation
                    insert at the end
                        let two = 2
                """
        )
        try toy.write("Sources/Toy/One.swift", "let one = 1" + ending)
        try toy.seeded().write()
        let code = toy.copied("Sources/Toy/One.edited.swift")?.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(code == ["import Foundation", "let one = 1", "let two = 2"])
    }

    @Test("A bug whose name is a keyword, or a name in the switch")
    func keywords() throws {
        let names = ["self", "init", "default", "chosen"]
        let toy = try ToyPackage(
            edits: names.map { "    bug instead of a + b: \($0)\n        a - b" }.joined(separator: "\n")
        )
        try toy.seeded().write()
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let folder = toy.path + "/.build/mutants/\((toy.path as NSString).lastPathComponent)/Sources/Toy/"
        try toy.write(".build/check.swift", "func check(_ number: Int) {}\n")
        compiler.arguments =
            ["swiftc", "-typecheck", "-parse-as-library", toy.path + "/.build/check.swift"]
            + ["Toy.edited", "SeededBug"].map { "\(folder)\($0).swift" }
        try compiler.run()
        compiler.waitUntilExit()
        #expect(compiler.terminationStatus == 0)
    }

    @Test("A program's main file keeps its name")
    func mainFile() throws {
        let toy = try ToyPackage(
            edits: "\nfile Sources/Tool/main.swift\n    bug in place of run(): it does not run\n        _ = 0"
        )
        try toy.write("Sources/Tool/main.swift", "run()\n")
        try toy.seeded().write()
        #expect(
            toy.copied("Sources/Tool/main.swift") == """
                if mutant(.itDoesNotRun) {
                    _ = 0
                } else {
                    run()
                }

                """
        )
    }

    @Test("Only the bugs with a pattern; a pattern without one is refused")
    func pattern() throws {
        let seeded = try ToyPackage(edits: "bug elsewhere: it is lost\nbug elsewhere: it is there").seeded()
        #expect(try seeded.named("lost|gone").map(\.name) == ["it is lost"])
        #expect(throws: Failure.self) { try seeded.named("nothing") }
        #expect(throws: Failure.self) { try seeded.named("(") }
    }
}

@Suite("The copy of a package")
struct PackageCopyTests {
    @Test(
        "Dependencies and links that lead out of the package are found; builds are not copied; it is renewed in place"
    )
    func renewed() throws {
        let toy = try ToyPackage()
        let files = FileManager.default
        try toy.write(
            "Package.swift",
            ".package(path: \"../lib\"), .package(name: \"x\", path: \"In\"), .target(path: \"../t\")"
        )
        try toy.write(".build/a", "")
        try toy.write("Nested/.build-x/a", "")
        try toy.write("Nested/scratch/workspace-state.json", "")
        try toy.write("Old.txt", "old")
        try files.createSymbolicLink(atPath: toy.path + "/Out", withDestinationPath: "../lib")
        try files.createSymbolicLink(atPath: toy.path + "/In", withDestinationPath: "Nested")
        let copy = PackageCopy(of: toy.path, in: toy.path + "/.build/mutants/copy")
        try copy.renew([:])
        let parent = (toy.path as NSString).deletingLastPathComponent
        let manifest = ".package(path: \"\(parent)/lib\"), .package(name: \"x\", path: \"In\"), .target(path: \"../t\")"
        #expect(toy.text(".build/mutants/copy/Package.swift") == manifest)
        #expect(try files.destinationOfSymbolicLink(atPath: copy.folder + "/Out") == parent + "/lib")
        #expect(try files.destinationOfSymbolicLink(atPath: copy.folder + "/In") == "Nested")
        let names = ["Sources", "Package.swift", "Old.txt", "Out", "In", "Nested"]
        #expect(try Set(files.contentsOfDirectory(atPath: copy.folder)) == Set(names))
        #expect(try files.contentsOfDirectory(atPath: copy.folder + "/Nested").isEmpty)

        func written() throws -> Date? {
            try files.attributesOfItem(atPath: copy.folder + "/Sources/Toy/Toy.swift")[.modificationDate] as? Date
        }
        let before = try written()
        try files.removeItem(atPath: toy.path + "/Old.txt")
        try toy.write("New.txt", "new")
        try copy.renew([:])
        #expect(toy.text(".build/mutants/copy/Old.txt") == nil && toy.text(".build/mutants/copy/New.txt") == "new")
        #expect(try written() == before)
    }
}
